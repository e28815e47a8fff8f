import t from 'tap'
import { transcriptFrames } from '../../../lib/stages/audio/transcript-frames.ts'
import { batchesOf, collect, routedCall } from '../../support/stages.ts'
import type { TranscriptEvent } from '../../../lib/core/events.ts'

async function written (...lists: TranscriptEvent[][]): Promise<unknown[]> {
  const frames = (await collect(transcriptFrames()(batchesOf(routedCall({}), lists))))
    .join('')
    .split('\n\n')
    .slice(0, -1)
  t.equal(frames.pop(), 'data: [DONE]')
  return frames.map(frame => JSON.parse(frame.slice('data: '.length)) as unknown)
}

t.test('pieces are deltas, and the complete text is sent again at the end', async t => {
  t.same(
    await written(
      [{ type: 'transcript-delta', text: 'Good ' }],
      [
        { type: 'transcript-delta', text: 'day.' },
        { type: 'transcript-end', transcript: { text: 'Good day.' } }
      ]
    ),
    [
      { type: 'transcript.text.delta', delta: 'Good ' },
      { type: 'transcript.text.delta', delta: 'day.' },
      { type: 'transcript.text.done', text: 'Good day.' }
    ]
  )
})

t.test('who said what is sent once, even if the server repeats it at the end', async t => {
  const turn = {
    type: 'transcript.text.segment' as const, id: 'a', start: 0, end: 1, text: 'Hi.', speaker: 'Bob'
  }
  const done = { type: 'transcript.text.done', text: 'Hi.' }
  const end: TranscriptEvent = { type: 'transcript-end', transcript: { text: 'Hi.', turns: [turn] } }
  const delta = { type: 'transcript.text.delta', delta: 'Hi.' }
  const given: TranscriptEvent[] = [
    { type: 'transcript-delta', text: 'Hi.' }, { type: 'transcript-turn', turn }
  ]
  t.same(await written(given, [end]), [delta, turn, done])
  t.same(await written([end]), [delta, turn, done])
})

t.test('usage that comes with an error is not sent, and what came before it is', async t => {
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  t.same(await written([{ type: 'transcript-delta', text: 'Good ' }, { type: 'usage', usage }]), [
    { type: 'transcript.text.delta', delta: 'Good ' }
  ])
})

t.test('a complete answer is one piece, with the usage at the end', async t => {
  const usage = { type: 'duration', seconds: 2 } as const
  t.same(await written([{ type: 'transcript-end', transcript: { text: 'Hi.', usage } }]), [
    { type: 'transcript.text.delta', delta: 'Hi.' },
    { type: 'transcript.text.done', text: 'Hi.', usage }
  ])
  t.same(await written([{ type: 'transcript-end', transcript: { text: '' } }]), [
    { type: 'transcript.text.done', text: '' }
  ])
})
