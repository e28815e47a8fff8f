import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { UsageMeter } from '../../lib/usage/usage-meter.ts'
import type { AnswerEvent } from '../../lib/core/events.ts'
import { recordedEstimate } from '../support/usage.ts'
import { fillRecord } from '../support/fill-record.ts'

const usage = { promptTokens: 3, completionTokens: 4, totalTokens: 7 }

function read (events: readonly AnswerEvent[], record = new CallRecord('chat')) {
  const meter = new UsageMeter(record)
  meter.read(events)
  return { record, reported: meter.hasReported }
}

t.test('reported usage is added to that of earlier turns', async t => {
  const record = new CallRecord('chat')
  t.equal(read([{ type: 'usage', usage }], record).reported, true)
  t.same(record.usage.total, usage)
  read([{ type: 'usage', usage }], record)
  t.same(record.usage.total, { promptTokens: 6, completionTokens: 8, totalTokens: 14 })
})

t.test('without a report only the length of the text is known', async t => {
  const { record, reported } = read([
    { type: 'answer-start' },
    { type: 'text-delta', choice: 0, text: 'abc' }
  ])
  t.same([reported, record.usage.total, record.usage.outputCharacters], [false, undefined, 3])
})

t.test(
  "output is counted by its characters, in a direct answer by the reader's count",
  async t => {
    const call = { choice: 0, callIndex: 0, kind: 'function' } as const
    const { record } = read([
      { type: 'reasoning-delta', choice: 0, text: 'a' },
      { type: 'refusal-delta', choice: 0, text: 'bc' },
      { type: 'tool-call-delta', ...call, text: 'def' },
      { type: 'direct-frame', name: undefined, json: '{}', characters: 10 },
      { type: 'direct-frame', name: undefined, json: '{}' },
      { type: 'direct-answer', json: '{}', characters: 100 },
      { type: 'transcript-delta', text: 'billed by the second' }
    ])
    t.equal(record.usage.outputCharacters, 116)
  }
)

t.test('images are counted, with the details that the provider reports', async t => {
  const { record } = read([
    { type: 'image-partial', json: '{}' },
    { type: 'image-end', json: '{}', about: { size: '1x1', quality: 'low' } },
    { type: 'image-answer', createdSeconds: 7, data: [{}, {}], about: { size: '2x2' } }
  ])
  t.same(record.usage.units, { images: { count: 3, size: '2x2', quality: 'low' } })
})

t.test(
  'unreported image details, and the length of spoken text, are taken from the request',
  async t => {
    const record = new CallRecord('images')
    record.usage.estimate = recordedEstimate({
      estimateUnits: () => ({
        images: { count: 2, size: '4x4', quality: 'high' },
        characters: 7,
        promptTokens: 1,
        completionTokens: 1
      })
    })
    read(
      [
        { type: 'image-end', json: '{}' },
        { type: 'image-end', json: '{}', about: { quality: 'low' } }
      ],
      record
    )
    t.same(record.usage.units, { images: { count: 2, size: '4x4', quality: 'low' } })
    for (const event of [
      { type: 'audio-start', mediaType: 'audio/mpeg' },
      { type: 'speech-delta', audio: '' }
    ] as const) {
      const spoken = fillRecord(new CallRecord('speech'), { usage: { estimate: record.usage.estimate } })
      t.equal(read([event], spoken).record.usage.units?.characters, 7, event.type)
    }
  }
)

t.test('a recording is counted in seconds or tokens, as the provider reports', async t => {
  const seconds = read([
    {
      type: 'transcript-end',
      transcript: { text: 'x', durationSeconds: 9, usage: { type: 'duration', seconds: 10 } }
    }
  ])
  t.same([seconds.record.usage.units?.audioSeconds, seconds.reported], [10, false])
  const tokens = read([
    {
      type: 'transcript-end',
      transcript: {
        text: 'x',
        durationSeconds: 9,
        usage: {
          type: 'tokens',
          input_tokens: 5,
          output_tokens: 2,
          total_tokens: 7,
          input_token_details: { text_tokens: 0, audio_tokens: 5 }
        }
      }
    }
  ])
  t.same(
    [tokens.record.usage.units?.audioSeconds, tokens.record.usage.total, tokens.reported],
    [9, { promptTokens: 5, completionTokens: 2, totalTokens: 7, promptAudioTokens: 5 }, true]
  )
})

t.test('a result is billed in the units given by its adapter, whatever it contains', async t => {
  t.same(read([{ type: 'result', result: 'text', units: { pages: 2 } }]).record.usage.units, { pages: 2 })
  t.equal(read([{ type: 'result', result: { pages: [{}, {}] } }]).record.usage.units, undefined)
})
