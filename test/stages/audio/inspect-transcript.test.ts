import t from 'tap'
import { once } from '../../../lib/pipeline/sources.ts'
import { flatMap } from '../../../lib/pipeline/stage.ts'
import { asPlainTranscript, inspectTranscript } from '../../../lib/stages/audio/inspect-transcript.ts'
import { batchesOf, collect, routedCall } from '../../support/stages.ts'
import { replacement, word, wordStages } from '../../support/word-stages.ts'
import type { RecordingInput } from '../../../lib/audio/input.ts'
import type { TranscriptEvent } from '../../../lib/core/events.ts'

const file: RecordingInput['file'] = {
  name: 'a.wav',
  mediaType: 'audio/wav',
  sizeBytes: 1,
  head: new Uint8Array(),
  open: async function* () {
    yield new Uint8Array()
  }
}

function callOf (parts: Partial<RecordingInput> = {}) {
  return routedCall<RecordingInput>({
    model: ['m'],
    file,
    format: 'json',
    task: 'transcribe',
    stream: false,
    logprobs: false,
    granularities: [],
    ...parts
  })
}

async function events (
  call: ReturnType<typeof callOf>,
  lists: ReadonlyArray<readonly TranscriptEvent[]>
): Promise<TranscriptEvent[]> {
  const stage = inspectTranscript(
    wordStages(['answer']),
    flatMap(given => batchesOf<RecordingInput, TranscriptEvent>(given, lists))
  )
  return (await collect(stage(once(call)))).flatMap(batch => [...batch.events])
}

t.test('a stream is the same at any cut, and ends with the complete text', async t => {
  const said = `It is ${word}. Yes.`
  for (const length of [1, 3, 7, 100]) {
    const pieces = said.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []
    const given = [
      ...pieces.map((text): TranscriptEvent[] => [{ type: 'transcript-delta', text }]),
      [
        {
          type: 'transcript-end',
          transcript: { text: said, usage: { type: 'duration', seconds: 1 } }
        } satisfies TranscriptEvent
      ]
    ]
    const out = await events(callOf({ stream: true }), given)
    const deltas = out.flatMap(event => event.type === 'transcript-delta' ? event.text : [])
    t.equal(deltas.join(''), `It is ${replacement}. Yes.`, `${length}`)
    t.same(out.at(-1), {
      type: 'transcript-end',
      transcript: { text: `It is ${replacement}. Yes.`, usage: { type: 'duration', seconds: 1 } }
    })
  }
})

t.test('a model that answers a stream in one piece is inspected too', async t => {
  t.same(
    await events(callOf({ stream: true }), [[{ type: 'transcript-end', transcript: { text: word } }]]),
    [
      { type: 'transcript-delta', text: replacement },
      { type: 'transcript-end', transcript: { text: replacement } }
    ]
  )
})

t.test('subtitles that cannot be redacted are refused', async t => {
  const segment = (id: number, text: string) => ({
    id,
    seek: 0,
    start: id,
    end: id + 1,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 0
  })
  const end = (...texts: string[]): TranscriptEvent[][] => [
    [
      {
        type: 'transcript-end',
        transcript: { text: texts.join(''), segments: texts.map((text, id) => segment(id, text)) }
      }
    ]
  ]
  await t.rejects(events(callOf({ format: 'srt' }), end(word.slice(0, 4), word.slice(4))), {
    code: 'content_refused',
    message: /several subtitles/
  })
  t.match(await events(callOf({ format: 'vtt' }), end(word, ' x')), [
    { transcript: { segments: [{ text: replacement }, { text: ' x' }] } }
  ])
  t.match(
    await events(callOf({ format: 'srt' }), [
      [{ type: 'transcript-end', transcript: { text: `1\n${word}`, written: 'srt' } }]
    ]),
    [{ transcript: { text: `1\n${replacement}`, written: 'srt' } }]
  )
})

t.test('log probabilities are not requested', async t => {
  const plain = asPlainTranscript(callOf({ logprobs: true }))
  t.equal(plain.request.logprobs, false)
  t.same(plain.record.request.ignoredFields, ['include'])
  const call = callOf()
  t.equal(asPlainTranscript(call), call)
})
