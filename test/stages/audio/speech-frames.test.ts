import t from 'tap'
import { speechFrames } from '../../../lib/stages/audio/speech-frames.ts'
import { batchesOf, collect, routedCall } from '../../support/stages.ts'
import type { SpeechEvent } from '../../../lib/core/events.ts'

t.test('pieces of audio are deltas, and the usage comes with the end', async t => {
  const lists: SpeechEvent[][] = [
    [{ type: 'speech-delta', audio: 'AAAA' }, { type: 'speech-delta', audio: 'BBBB' }],
    [{ type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }]
  ]
  t.same(await collect(speechFrames()(batchesOf(routedCall({}), lists))), [
    'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\ndata: {"type":"speech.audio.delta","audio":"BBBB"}\n\n',
    'data: {"type":"speech.audio.done","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}\n\ndata: [DONE]\n\n'
  ])
})

t.test('without reported usage the last event has none', async t => {
  const lists: SpeechEvent[][] = [[{ type: 'speech-delta', audio: 'AAAA' }]]
  t.equal(
    (await collect(speechFrames()(batchesOf(routedCall({}), lists)))).at(-1),
    'data: {"type":"speech.audio.done"}\n\ndata: [DONE]\n\n'
  )
})
