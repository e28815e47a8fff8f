import t from 'tap'
import { once } from '../../../lib/pipeline/sources.ts'
import { flatMap } from '../../../lib/pipeline/stage.ts'
import { asPlainTranscript, inspectTranscript } from '../../../lib/stages/audio/inspect-transcript.ts'
import { batchesOf, collect, routedCall } from '../../support/stages.ts'
import { replacement, word, wordFilter, wordStages } from '../../support/word-stages.ts'
import { GatewayError } from '../../../lib/core/errors.ts'
import type { TextGuards } from '../../../lib/guards/text-guards.ts'
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
  lists: ReadonlyArray<readonly TranscriptEvent[]>,
  guards = wordStages(['answer'])
): Promise<TranscriptEvent[]> {
  const stage = inspectTranscript(
    guards,
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

t.test('who said what in a stream is what the guards have seen, or left out', async t => {
  const turn = (text: string) => ({
    type: 'transcript.text.segment' as const, id: text, start: 0, end: 1, text, speaker: 'A'
  })
  const given = (deltas: readonly string[], text: string, turns: readonly string[]): TranscriptEvent[][] => [
    deltas.map(delta => ({ type: 'transcript-delta', text: delta, segmentId: delta })),
    turns.map(said => ({ type: 'transcript-turn', turn: turn(said) })),
    [{ type: 'transcript-end', transcript: { text } }]
  ]
  const said = (out: readonly TranscriptEvent[]): string[] =>
    out.flatMap(event => event.type === 'transcript-turn' ? event.turn.text : [])
  const stream = () => callOf({ stream: true })
  const refusing: TextGuards = {
    layers: [{
      kind: 'filters',
      filter: () => ({
        ...wordFilter(),
        find: (text: string) => {
          if (text.includes(word)) throw new GatewayError('content_policy_violation')
          return []
        }
      })
    }]
  }
  for (const guards of [wordStages(['answer']), refusing]) {
    t.same(said(await events(stream(), given([], '', [word]), guards)), [], 'no text')
    t.same(said(await events(stream(), given(['Hi.'], 'Hi.', [word]), guards)), [], 'another text')
    t.same(said(await events(stream(), given(['Hi.'], 'Hi.', ['Hi.', ` ${word}`]), guards)), [], 'more text')
    t.same(said(await events(stream(), given(['a b'], 'a b', ['b', 'a']), guards)), [], 'in another order')
    for (const [deltas, text] of [
      [['Hi.', 'Bye.'], 'Hi. Bye.'],
      [['Hi.', ' Bye.'], 'A: Hi.\nB: Bye.'],
      [['A: Hi.\n', 'B: Bye.'], ''],
      [[], 'Hi. Bye.']
    ] as const) {
      const out = await events(stream(), given(deltas, text, ['Hi.', ' Bye.']), guards)
      t.same(said(out), ['Hi.', ' Bye.'])
      t.same(
        out.flatMap(event => event.type === 'transcript-delta' ? event.segmentId ?? [] : []), deltas
      )
    }
    const turns = [turn('Hi.'), turn(' Bye.')]
    const atEnd: TranscriptEvent = { type: 'transcript-end', transcript: { text: 'Hi. Bye.', turns } }
    t.same(said(await events(stream(), [[atEnd]], guards)), ['Hi.', ' Bye.'], 'at the end alone')
  }
  const masked = await events(stream(), given([`It is ${word}.`], `It is ${word}.`, [`It is ${word}.`]))
  t.same(said(masked), [])
  t.match(masked[0], { text: `It is ${replacement}.`, segmentId: `It is ${word}.` })
  const reporting: TextGuards = {
    layers: [{ kind: 'filters', filter: () => ({ ...wordFilter(), alters: false, find: () => [] }) }]
  }
  const unchanged = given(['Hi.Bye.'], 'Hi. Bye.', ['Hi.', 'Oh.'])
  t.same(await events(stream(), unchanged, reporting), unchanged.flat())
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
