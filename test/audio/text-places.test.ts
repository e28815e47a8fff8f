import t from 'tap'
import { replaceTranscriptTexts, speechRequestTexts } from '../../lib/audio/text-places.ts'
import type { Transcript } from '../../lib/core/events.ts'
import { SpeechRequest } from '../../schemas/speech.ts'
import { countSeen, forgottenTexts } from '../support/schema-texts.ts'

t.test('every string of a request is inspected, or exempt for a stated reason', t => {
  t.same(forgottenTexts(SpeechRequest, speechRequestTexts), [])
  t.equal(countSeen(SpeechRequest, speechRequestTexts), 2)
  t.end()
})

t.test('when the text of a transcript was replaced, its other copies are left out', async t => {
  const segment = (id: number, text: string) => ({
    id,
    seek: 0,
    start: id,
    end: id + 1,
    text,
    tokens: [1],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 0
  })
  const replace = (text: string): string => text.replaceAll('Zoë', '(a name)')
  const transcript: Transcript = {
    text: 'It is Zoë. Yes.',
    language: 'english',
    durationSeconds: 2,
    words: [{ word: 'Zoë', start: 0, end: 1 }],
    logprobs: [{ token: 'Zoë', logprob: 0, bytes: [] }],
    segments: [segment(0, ' It is Zoë.'), segment(1, ' Yes.')]
  }
  t.equal(replaceTranscriptTexts(transcript, text => text), transcript)
  t.same(replaceTranscriptTexts(transcript, replace), {
    text: 'It is (a name). Yes.',
    language: 'english',
    durationSeconds: 2,
    segments: [
      { ...segment(0, ' It is (a name).'), tokens: [] },
      { ...segment(1, ' Yes.'), tokens: [] }
    ]
  })
  const turn = { type: 'transcript.text.segment' as const, id: 'a', start: 0, end: 1, speaker: 'Bob' }
  const { segments: _segments, ...plain } = transcript
  const turns = [{ ...turn, text: 'It is Zoë.' }, { ...turn, text: ' Yes.' }]
  t.equal(replaceTranscriptTexts({ ...plain, turns }, text => text).turns, turns)
  t.same(replaceTranscriptTexts({ ...plain, turns }, replace).turns, [
    { ...turn, text: 'It is (a name).' }, { ...turn, text: ' Yes.' }
  ])
  const cutTurns = [{ ...turn, text: 'It is Zo' }, { ...turn, text: 'ë. Yes.' }]
  t.notOk('turns' in replaceTranscriptTexts({ ...plain, turns: cutTurns }, replace))
  const named = {
    text: 'Zo: Hi Zoë\nB: ok', turns: [{ ...turn, text: 'Hi Zoë' }, { ...turn, text: 'ok' }]
  }
  t.same(replaceTranscriptTexts(named, replace), {
    text: 'Zo: Hi (a name)\nB: ok', turns: [{ ...turn, text: 'Hi (a name)' }, { ...turn, text: 'ok' }]
  }, 'a text that names the speakers')
  const cut = { ...transcript, segments: [segment(0, ' It is Zo'), segment(1, 'ë. Yes.')] }
  t.same(replaceTranscriptTexts(cut, replace), {
    text: 'It is (a name). Yes.',
    language: 'english',
    durationSeconds: 2
  })
})
