import t from 'tap'
import { speechInput } from '../../lib/audio/speech-input.ts'
import { routedCall } from '../support/stages.ts'
import type { SpeechRequest } from '../../schemas/speech.ts'

const request: SpeechRequest = { model: 'm', input: 'né 🎈', voice: 'alloy' }

t.test('a stream is asked for by its format', async t => {
  t.strictSame(speechInput(routedCall(request)).request, { ...request, stream: false })
  t.equal(speechInput(routedCall({ ...request, stream_format: 'sse' })).request.stream, true)
  t.equal(speechInput(routedCall({ ...request, stream_format: 'audio' })).request.stream, false)
})

t.test('what is to be said is counted in characters as people count them', async t => {
  const call = routedCall(request)
  speechInput(call)
  t.equal(call.record.spokenCharacters, 4)
})
