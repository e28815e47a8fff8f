/** Records from the microphone. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Failure } from '../parts/notice.tsx'
import { useAction } from '../state/action.ts'

export function Recorder ({ onRecorded }: { readonly onRecorded: (file: File) => void }): JSX.Element {
  const { run, error } = useAction()
  const recording = useSignal(false)
  const recorder = useRef<MediaRecorder | undefined>(undefined)
  const begin = async (): Promise<void> => {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
    const pieces: Blob[] = []
    const device = new MediaRecorder(stream)
    recorder.current = device
    device.addEventListener('dataavailable', ({ data }) => pieces.push(data))
    device.addEventListener('stop', () => {
      for (const track of stream.getTracks()) track.stop()
      recording.value = false
      const type = device.mimeType.split(';', 1)[0] ?? 'audio/webm'
      onRecorded(new File(pieces, `recording.${type.split('/')[1] ?? 'webm'}`, { type }))
    })
    device.start()
    recording.value = true
  }
  useEffect(() => () => { if (recorder.current?.state === 'recording') recorder.current.stop() }, [])
  return (
    <>
      {recording.value
        ? <Button icon='stop' kind='danger' onClick={() => recorder.current?.stop()}>Stop recording</Button>
        : <Button icon='microphone' onClick={() => void run(begin)}>Record</Button>}
      <Failure error={error} />
    </>
  )
}
