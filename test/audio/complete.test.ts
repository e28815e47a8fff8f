import t from 'tap'
import { toTranscript, transcriptReply } from '../../lib/audio/complete.ts'
import { route, routedCall } from '../support/stages.ts'
import type { TranscriptEvent } from '../../lib/core/events.ts'
import type { RecordingInput } from '../../lib/audio/input.ts'

const file = {
  name: 'a.wav',
  head: new Uint8Array(),
  mediaType: '',
  sizeBytes: 0,
  open: async function* () {}
}
const request: RecordingInput = {
  task: 'transcribe',
  model: ['m'],
  file,
  format: 'json',
  stream: false,
  logprobs: false,
  granularities: []
}
const batch = (...events: TranscriptEvent[]) => ({ call: routedCall(request), route, events })

t.test('the answer is the final transcript, not its deltas', async t => {
  const written = toTranscript([
    batch({ type: 'transcript-delta', text: 'hel' }),
    batch({ type: 'transcript-end', transcript: { text: 'hello' } })
  ])
  t.strictSame(transcriptReply(written), {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: '{"text":"hello"}'
  })
})

t.test('a transcript without an end event is an error', async t => {
  t.throws(() => toTranscript([batch({ type: 'transcript-delta', text: 'hel' })]), {
    code: 'upstream_invalid_response'
  })
  t.throws(() => toTranscript([]), { code: 'upstream_invalid_response' })
})
