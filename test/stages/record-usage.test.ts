import t from 'tap'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import type { CallRecord } from '../../lib/core/record.ts'
import type { AnswerEvent, Transcript } from '../../lib/core/events.ts'

const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 }

async function recorded (
  lists: ReadonlyArray<readonly AnswerEvent[]>,
  call = routedCall({})
): Promise<CallRecord> {
  const batches = await collect(recordUsage()(batchesOf(call, lists)))
  t.same(batches.map(({ events }) => events), lists, 'batches go through as they are')
  return call.record
}

t.test('reported tokens are added to those of earlier turns of the call', async t => {
  const call = routedCall({})
  t.match(
    await recorded([[{ type: 'text-delta', choice: 0, text: '' }], [{ type: 'usage', usage }]], call),
    { usage: { total: usage, isEstimated: false } }
  )
  call.record.usage.isEstimated = true
  await recorded([[{ type: 'usage', usage }]], call)
  t.match(call.record, {
    usage: { total: { promptTokens: 6, completionTokens: 4, totalTokens: 10 }, isEstimated: false }
  })
})

t.test('a later report of one answer replaces an earlier one', async t => {
  const grown = { ...usage, completionTokens: 9, totalTokens: 12 }
  t.same((await recorded([[{ type: 'usage', usage }], [{ type: 'usage', usage: grown }]])).usage.total, grown)
})

t.test('the length of the text is known while the answer grows', async t => {
  const call = routedCall({})
  const lists: AnswerEvent[][] = [
    [{ type: 'text-delta', choice: 0, text: 'four' }],
    [
      { type: 'reasoning-delta', choice: 0, text: 'six...' },
      { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{}', kind: 'function' }
    ]
  ]
  const lengths: Array<number | undefined> = []
  for await (const batch of recordUsage()(batchesOf(call, lists))) {
    lengths.push(batch.call.record.usage.outputCharacters)
  }
  t.same(lengths, [4, 12])
  t.equal(call.record.usage.total, undefined, 'the ledger estimates')
  t.equal(
    (await recorded([[{ type: 'transcript-delta', text: 'words' }]])).usage.outputCharacters,
    undefined,
    'recordings are not billed by their text'
  )
})

t.test('images, pages and seconds of audio are counted', async t => {
  const image: AnswerEvent[] = [{ type: 'image-partial', json: '{}' }, { type: 'image-end', json: '{}' }]
  t.equal((await recorded([image, image])).usage.units?.images?.count, 2)
  t.equal(
    (await recorded([[{
      type: 'image-answer',
      createdSeconds: 7,
      data: [{}, {}, {}],
      about: {}
    }]])).usage.units
      ?.images?.count,
    3
  )
  t.equal((await recorded([[{ type: 'result', result: 'text', units: { pages: 2 } }]])).usage.units?.pages, 2)
  t.equal((await recorded([[{ type: 'result', result: 'an id' }]])).usage.units, undefined)
})

t.test('a transcript is billed by tokens or by seconds', async t => {
  const ended = (transcript: Partial<Transcript>): AnswerEvent[][] => [
    [{ type: 'transcript-end', transcript: { text: '', ...transcript } }]
  ]
  t.match(await recorded(ended({ durationSeconds: 2.5 })), {
    usage: { units: { audioSeconds: 2.5 }, total: undefined }
  })
  t.match(await recorded(ended({ durationSeconds: 2.5, usage: { type: 'duration', seconds: 3 } })), {
    usage: { units: { audioSeconds: 3 } }
  })
  t.match(
    await recorded(
      ended({
        usage: {
          type: 'tokens',
          input_tokens: 8,
          output_tokens: 2,
          total_tokens: 10,
          input_token_details: { audio_tokens: 7 }
        }
      })
    ),
    {
      usage: {
        total: { promptTokens: 8, completionTokens: 2, totalTokens: 10, promptAudioTokens: 7 },
        isEstimated: false
      }
    }
  )
})

t.test('an answer without usage is estimated if requested', async t => {
  const estimated = async (...lists: ReadonlyArray<readonly AnswerEvent[]>): Promise<CallRecord> => {
    const call = routedCall({ input: 'four' })
    await collect(
      recordUsage({
        estimate: ({ input }: { input: string }) => ({ ...usage, promptTokens: input.length })
      })(batchesOf(call, lists))
    )
    return call.record
  }
  const embeddings: AnswerEvent[] = [{ type: 'embeddings', vectors: [] }]
  const report: AnswerEvent[] = [{ type: 'usage', usage }]
  t.match(await estimated(embeddings), { usage: { total: { promptTokens: 4 }, isEstimated: true } })
  for (const lists of [[report], [report, embeddings], [embeddings, report]]) {
    t.match(await estimated(...lists), { usage: { total: usage, isEstimated: false } })
  }
})
