/** Transcribes a recording. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Copy } from '../parts/copy.tsx'
import { Input } from '../parts/input.tsx'
import { useAction } from '../state/action.ts'
import type { CatalogueEntry } from '../state/catalogue.ts'
import { call } from './call.ts'
import { FileField } from './file-field.tsx'
import { ModelField } from './model-field.tsx'
import { Recorder } from './recorder.tsx'
import { Trial } from './trial.tsx'

const listens = ({ id, kind, capabilities }: CatalogueEntry): boolean =>
  kind === 'model' && capabilities.audio === true && /whisper|transcri|voxtral|listener|scribe/.test(id)

export function Transcription (): JSX.Element {
  const action = useAction()
  const model = useSignal('')
  const language = useSignal('')
  const file = useSignal<File | undefined>(undefined)
  const text = useSignal<string | undefined>(undefined)
  const transcribe = async (): Promise<void> => {
    if (file.value === undefined) return
    const form = new FormData()
    form.set('model', model.value)
    form.set('file', file.value)
    if (language.value.trim() !== '') form.set('language', language.value.trim())
    const response = await call('/v1/audio/transcriptions', { body: form })
    const answer = await response.json() as { readonly text: string }
    text.value = answer.text
  }
  return (
    <Trial
      action={action}
      button='Transcribe'
      ready={model.value !== '' && file.value !== undefined}
      onSubmit={transcribe}
      icon='microphone'
      empty='The text appears here'
      fields={
        <>
          <ModelField model={model} suits={listens} />
          <FileField
            label='Recording'
            accept='audio/*,video/mp4,video/webm'
            file={file.value}
            onFile={chosen => {
              file.value = chosen
            }}
          >
            <Recorder
              onRecorded={recorded => {
                file.value = recorded
              }}
            />
          </FileField>
          <Input
            label='Language'
            optional
            placeholder='en'
            value={language.value}
            onInput={value => {
              language.value = value
            }}
            maxLength={16}
          />
        </>
      }
      result={
        text.value !== undefined && (
          <>
            <p class='pre'>{text.value === '' ? 'Nothing was said.' : text.value}</p>
            <div class='row'>
              <Copy text={text.value} label='Copy text' />
            </div>
          </>
        )
      }
    />
  )
}
