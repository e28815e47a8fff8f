import t from 'tap'
import { writeTranscript } from '../../lib/audio/transcript.ts'
import type { RecordingInput } from '../../lib/audio/input.ts'
import type { Transcript } from '../../lib/core/events.ts'

const file = {
  name: 'a.wav',
  head: new Uint8Array(),
  mediaType: '',
  sizeBytes: 0,
  open: async function* () {}
}
const recording = (parts: Partial<RecordingInput>): RecordingInput => ({
  task: 'transcribe',
  model: ['m'],
  file,
  format: 'json',
  stream: false,
  logprobs: false,
  granularities: [],
  ...parts
})
const segment = {
  id: 0,
  seek: 0,
  start: 0,
  end: 1.5,
  text: 'hello',
  tokens: [],
  temperature: 0,
  avg_logprob: 0,
  compression_ratio: 0,
  no_speech_prob: 0
}
const said: Transcript = {
  text: 'hello',
  language: 'english',
  durationSeconds: 2,
  words: [{ word: 'hello', start: 0, end: 1 }],
  segments: [segment],
  logprobs: [{ token: 'hello', logprob: 0, bytes: [] }],
  usage: { type: 'duration', seconds: 2 }
}

function written (parts: Partial<RecordingInput>, transcript = said): unknown {
  const { text, mediaType } = writeTranscript(transcript, recording(parts))
  return mediaType.startsWith('application/json') ? JSON.parse(text) : text
}

t.test('each format has its own body and media type', async t => {
  t.strictSame(written({}), { text: 'hello', logprobs: said.logprobs, usage: said.usage })
  t.strictSame(written({ format: 'verbose_json' }), {
    language: 'english',
    duration: 2,
    text: 'hello',
    segments: [segment],
    usage: said.usage
  })
  t.strictSame(written({ format: 'text' }), 'hello\n')
  t.strictSame(written({ format: 'text' }, { text: 'hello\n' }), 'hello\n')
  t.strictSame(written({ format: 'srt' }), '1\n00:00:00,000 --> 00:00:01,500\nhello\n\n')
  t.match(written({ format: 'vtt' }), /^WEBVTT\n\n00:00:00\.000 --> 00:00:01\.500\nhello\n/)
  t.same(
    ['json', 'verbose_json', 'text', 'srt', 'vtt'].map(
      format => writeTranscript(said, recording({ format: format as RecordingInput['format'] })).mediaType
    ),
    [
      'application/json; charset=utf-8',
      'application/json; charset=utf-8',
      'text/plain; charset=utf-8',
      'text/plain; charset=utf-8',
      'text/vtt; charset=utf-8'
    ]
  )
})

t.test('the requested words and segments are returned', async t => {
  const fields = (granularities: RecordingInput['granularities']): string[] =>
    Object.keys(written({ format: 'verbose_json', granularities }) as object)
  t.same(fields(['word']), ['language', 'duration', 'text', 'words', 'usage'])
  t.same(fields(['segment']), ['language', 'duration', 'text', 'segments', 'usage'])
  t.same(fields(['word', 'segment']), ['language', 'duration', 'text', 'words', 'segments', 'usage'])
})

t.test('missing values are taken from the request or the segments', async t => {
  t.strictSame(written({ format: 'verbose_json', language: 'de' }, { text: 'x', segments: [segment] }), {
    language: 'de',
    duration: 1.5,
    text: 'x',
    segments: [segment]
  })
  t.strictSame(written({ format: 'verbose_json' }, { text: 'x' }), { language: '', duration: 0, text: 'x' })
  t.strictSame(written({ format: 'verbose_json', task: 'translate' }, { text: 'x' }), {
    language: 'english',
    duration: 0,
    text: 'x'
  })
})

t.test('a translation contains only its text', async t => {
  t.strictSame(written({ task: 'translate' }), { text: 'hello' })
})

t.test('subtitles from the provider are sent unchanged; without timestamps there are none', async t => {
  t.equal(written({ format: 'srt' }, { text: '1\nby others', written: 'srt' }), '1\nby others')
  for (const format of ['srt', 'vtt'] as const) {
    t.throws(() => written({ format }, { text: 'x' }), { code: 'upstream_invalid_response' })
  }
  t.throws(
    () => written({ format: 'vtt' }, { text: '1\nby others', written: 'srt' }),
    { code: 'upstream_invalid_response' },
    'the other subtitle format cannot be derived'
  )
})
