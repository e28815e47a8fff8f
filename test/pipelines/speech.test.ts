import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import OpenAI, { toFile, type Uploadable } from 'openai'
import Dedalus from 'dedalus-labs'
import { localPrograms } from '../../lib/local/programs.ts'
import { runProgram } from '../../lib/async/run-program.ts'
import { eventStream, fakeUpstream } from '../support/upstream.ts'
import { testGateway, testKey, upstreamAt } from '../support/gateway.ts'
import { partsOf } from '../support/forms.ts'
import { secondsOf } from '../support/sound-frames.ts'
import { modelSettings, providerSettings } from '../support/settings.ts'
import { callWithoutReading, endlessly } from '../support/unread.ts'
import { until } from '../support/until.ts'
import { speech, said, sound, wav, start, json, words, verbose } from '../support/audio.ts'

/** A third-party decoder; without it only our own code checks the audio frames. */
const ffmpeg = '/usr/bin/ffmpeg'

/** Mono samples of 16 bits, 24,000 a second. Fails at the first problem that the decoder reports. */
async function decoded (sound: Buffer): Promise<Buffer> {
  const args = [
    '-v',
    'error',
    '-xerror',
    '-err_detect',
    'crccheck+bitstream+buffer+explode',
    '-i',
    'pipe:0',
    '-f',
    's16le',
    '-ac',
    '1',
    '-ar',
    '24000',
    'pipe:1'
  ]
  return await runProgram(ffmpeg, args, { input: sound, signal: AbortSignal.timeout(30_000), maxBytes: 1e7 })
}

const { espeak } = await localPrograms()

t.test('speech is passed on as it arrives, with the media type of its format', async t => {
  const { upstream, api } = await start(t, ({ json }) => {
    const format = Reflect.get(Object(json), 'response_format') as string | undefined
    return {
      headers: { 'content-type': format === 'opus' ? 'audio/ogg; codecs=opus' : 'application/octet-stream' },
      pieces: [sound]
    }
  })
  const rows = [
    [undefined, 'audio/mpeg'], ['mp3', 'audio/mpeg'], ['opus', 'audio/ogg; codecs=opus'],
    ['aac', 'audio/aac'],
    ['flac', 'audio/flac'], ['wav', 'audio/wav'], ['pcm', 'audio/pcm']
  ] as const
  for (const [format, mediaType] of rows) {
    const response = await api.post(speech, {
      ...said,
      response_format: format,
      speed: 4,
      instructions: 'softly',
      unknown: 1
    })
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-type'), mediaType)
    t.same(Buffer.from(await response.arrayBuffer()), sound, 'unchanged')
    t.same(
      upstream.requests.at(-1)?.json,
      {
        model: 'tts-1',
        input: 'Hello',
        voice: 'alloy',
        speed: 4,
        ...format !== undefined && { response_format: format }
      },
      'without what this model does not know'
    )
  }
  t.equal(upstream.requests[0]?.path, '/v1/audio/speech')
  await api.post(speech, { ...said, model: 'gpt-4o-mini-tts', instructions: 'softly', stream_format: 'sse' })
  t.match(upstream.requests.at(-1)?.json, {
    model: 'gpt-4o-mini-tts',
    instructions: 'softly',
    stream_format: 'sse'
  })
  await (await api.post(speech, { ...said, input: 'Hi 🎉' })).arrayBuffer()
  await until(() => api.lines.length === 9, 'nine lines in the log')
  t.match(api.lines[0], { endpoint: 'speech', outcome: 'ok', model: 'openai/tts-1', spoken_characters: 5 })
  t.match(api.lines[8], { spoken_characters: 4 })
})

t.test('the output tokens of speech have the price of sound', async t => {
  const model = 'openai/gpt-4o-mini-tts'
  const frames = [
    { type: 'speech.audio.delta', audio: sound.toString('base64') },
    { type: 'speech.audio.done', usage: { input_tokens: 14, output_tokens: 1000, total_tokens: 1014 } }
  ]
  const upstream = await fakeUpstream({
    headers: eventStream,
    pieces: frames.map(frame => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`)
  })
  t.teardown(upstream.close)
  const price = { input: 0.6, output: 10, audioOutput: 12 }
  const costs: unknown[] = []
  const api = await testGateway(
    t,
    { providers: [upstreamAt(upstream.url)], models: [modelSettings(model, { price })] },
    {},
    { observers: [(_call, row) => costs.push(row?.cost_nano_usd)] }
  )
  await (await api.post(speech, { ...said, model, stream_format: 'sse' })).text()
  await until(() => costs.length === 1, 'the call to be recorded')
  t.same(costs, [14 * 600 + 1000 * 12_000])
})

t.test('the first bytes of speech reach the caller before the last are generated', async t => {
  let finish = (): void => undefined
  const heard = new Promise<void>(resolve => { finish = resolve })
  const { api } = await start(t, {
    headers: { 'content-type': 'audio/mpeg' },
    pieces: (async function * () { yield sound.subarray(0, 100); await heard; yield sound.subarray(100) })()
  })
  const reader = (await api.post(speech, said)).body?.getReader()
  const pieces: Uint8Array[] = []
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    pieces.push(next.value)
    finish()
  }
  t.same(Buffer.from(pieces[0] ?? []), sound.subarray(0, 100))
  t.same(Buffer.concat(pieces), sound)
})

t.test('a caller who does not read slows down the provider', async t => {
  const endless = endlessly(Buffer.alloc(1_000_000, sound), 400)
  const { api } = await start(t, () => ({
    headers: { 'content-type': 'audio/mpeg' },
    pieces: endless.pieces()
  }))
  const leave = await callWithoutReading(api, speech, said)
  const bytes = await endless.taken()
  t.ok(bytes < 100e6, `${Math.round(bytes / 1e6)} of 400 MB were taken`)
  leave()
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { outcome: 'client_closed' })
})

t.test('a provider that breaks off midway cuts the connection', async t => {
  for (const then of ['reset', 'fin'] as const) {
    let fail = (): void => undefined
    const heard = new Promise<void>(resolve => { fail = resolve })
    const { api } = await start(t, {
      headers: { 'content-type': 'audio/mpeg' },
      pieces: (async function* () {
        yield sound
        await heard
      })(),
      then
    })
    const reader = (await api.post(speech, said)).body?.getReader()
    t.equal((await reader?.read())?.value?.length, 256)
    fail()
    const end = await reader?.read().then(() => 'an end', () => 'a cut')
    t.equal(end, 'a cut', `${then}: nothing that looks like an end`)
    await until(() => api.lines.length === 1, 'one line in the log')
    t.match(api.lines[0], { outcome: 'error', error: 'upstream_stream_interrupted' })
  }
})

t.test('speech events are relayed unnamed, or else plain audio is sent', async t => {
  const deltas = ['UklG', 'Rg=='].map(audio => `data: {"type":"speech.audio.delta","audio":"${audio}"}\n\n`)
  const end =
    'event: speech.audio.done\ndata: {"type":"speech.audio.done","usage":{"input_tokens":14,"output_tokens":101,"total_tokens":115}}\n\n'
  const { api, upstream } = await start(t, (_request, number) => {
    if (number === 1) return { headers: eventStream, pieces: deltas }
    if (number === 2) return { headers: { 'content-type': 'audio/mpeg' }, pieces: [sound] }
    return { headers: eventStream, pieces: [...deltas, end] }
  })
  const ask = { ...said, model: 'openai/gpt-4o-mini-tts', stream_format: 'sse' }
  const streamed = await api.post(speech, ask)
  t.equal(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(await streamed.text(), deltas.join('') + end.slice(end.indexOf('data:')) + 'data: [DONE]\n\n')
  const cut = await (await api.post(speech, ask)).text()
  t.match(cut, /event: error\ndata: \{"error":\{.*"code":"upstream_stream_interrupted"/)
  t.notMatch(cut, /DONE|audio\.done/)
  const plain = await api.post(speech, { ...ask, model: 'openai/tts-1' })
  t.equal(plain.headers.get('content-type'), 'audio/mpeg')
  t.notOk(Reflect.has(Object(upstream.requests[2]?.json), 'stream_format'))
  await until(() => api.lines.length === 3, 'three lines in the log')
  t.match(api.lines[0], { usage: { prompt: 14, completion: 101, total: 115 } })
})

t.test('text without its content type is not passed on as sound', async t => {
  const delta = { type: 'speech.audio.delta', audio: sound.toString('base64') }
  const stream = [delta, { type: 'speech.audio.done' }].map(event => `data: ${JSON.stringify(event)}\n\n`)
  const texts: ReadonlyArray<readonly [title: string, text: string]> = [
    ['an event stream', stream.join('')],
    ['a stream that begins with a comment', `: keep-alive\n\n${stream.join('')}`],
    ['an error in a stream', 'event: error\ndata: {"error":{"message":"canary","code":429}}\n\n'],
    ['an error', '{"error":{"message":"canary 🐤","code":429}}'],
    ['a page', '<!DOCTYPE html><title>canary</title>']
  ]
  for (const type of [undefined, 'application/octet-stream', 'audio/mpeg']) {
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
    for (const [title, text] of texts) {
      const { api } = await start(t, { headers, pieces: [...Buffer.from(text)].map(byte => Buffer.of(byte)) })
      for (const format of ['audio', 'sse'] as const) {
        const ask = { ...said, model: 'openai/gpt-4o-mini-tts', stream_format: format }
        const response = await api.post(speech, ask)
        const name = `${title}, ${type}, ${format}`
        const bytes = Buffer.from(await response.arrayBuffer())
        if (title.includes('error')) t.equal(response.status, 429, name)
        else if (title === 'a page' || format === 'audio') t.equal(response.status, 502, name)
        else t.match(bytes.toString(), JSON.stringify(delta), name)
        t.notMatch(bytes.toString(), 'canary', name)
      }
    }
  }
})

t.test('an invalid request is refused', async t => {
  const { upstream, api } = await start(t, {
    pieces: ['{"error":{"message":"odd","code":"unsupported_value","param":"voice"}}'],
    status: 400
  })
  const rows: ReadonlyArray<readonly [change: object, type: string, field: string]> = [
    [{ input: '' }, 'string_too_short', 'input'],
    [{ input: 'x'.repeat(4097) }, 'string_too_long', 'input'],
    [{ input: undefined }, 'missing', 'input'],
    [{ model: undefined }, 'missing', 'model'],
    [{ voice: undefined }, 'missing', 'voice'],
    [{ voice: 5 }, 'string_type', 'voice'],
    [{ instructions: 'x'.repeat(4097) }, 'string_too_long', 'instructions'],
    [{ response_format: 'ogg' }, 'literal_error', 'response_format'],
    [{ stream_format: 'x' }, 'literal_error', 'stream_format'],
    [{ speed: 0.2 }, 'greater_than_equal', 'speed'],
    [{ speed: 4.1 }, 'less_than_equal', 'speed']
  ]
  for (const [change, type, field] of rows) {
    const response = await api.post(speech, { ...said, ...change })
    t.equal(response.status, 422, `${field} ${type}`)
    t.match(await json(response), { detail: [{ loc: ['body', field], type }] })
  }
  t.equal(
    (await api.post(speech, { ...said, model: 'openai/none-such' })).status,
    400,
    'a model we do not know is for its provider to judge'
  )
  t.equal(
    (await api.post(speech, { ...said, input: '🎉'.repeat(4096) })).status,
    400,
    'characters are counted, not their halves'
  )
  t.equal(upstream.requests.length, 2)
  const refused = await api.post(speech, said)
  t.equal(refused.status, 400, 'the provider\'s own refusal, though success would be bytes')
  t.match(await json(refused), { error: { code: 'unsupported_value', param: 'voice' } })
})

t.test('another model speaks if the first cannot, even if it refuses with status 200', async t => {
  const { upstream, api } = await start(
    t,
    (_request, number) =>
      [
        { status: 500, pieces: ['{}'] },
        { pieces: ['{"error":{"message":"busy","code":503}}'] },
        { headers: { 'content-type': 'audio/mpeg' }, pieces: [] }
      ][number] ?? { headers: { 'content-type': 'audio/mpeg' }, pieces: [sound] }
  )
  const model = [
    'openai/tts-1',
    { model: 'openai/tts-1-hd', settings: { temperature: 1 } },
    'openai/gpt-4o-mini-tts',
    'openai/gpt-4o-mini-tts-2025'
  ]
  const response = await api.post(speech, { ...said, model })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-headgate-model'), 'openai/gpt-4o-mini-tts-2025')
  t.equal(upstream.requests.length, 4)
  t.same(
    upstream.requests[1]?.json,
    { model: 'tts-1-hd', input: 'Hello', voice: 'alloy' },
    'settings are for chat'
  )
})

t.test('the official clients generate speech and transcribe it', async t => {
  const frames = [
    'data: {"type":"transcript.text.delta","delta":"Hi"}\n\n',
    'data: {"type":"transcript.text.done","text":"Hi"}\n\ndata: [DONE]\n\n'
  ]
  const { api, upstream } = await start(t, async request => {
    if (request.path.endsWith('speech')) return { headers: { 'content-type': 'audio/mpeg' }, pieces: [sound] }
    const parts = new Map(await partsOf(request))
    if (parts.get('stream') === 'true') return { headers: eventStream, pieces: frames }
    return { pieces: [JSON.stringify(verbose)] }
  })
  const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
  const dedalus = new Dedalus({
    baseURL: api.url,
    apiKey: testKey,
    maxRetries: 0,
    environment: null as unknown as 'development'
  })
  const file = async (): Promise<File> => await toFile(wav, 'talk.wav')
  for (const client of [openai, dedalus]) {
    const spoken = await client.audio.speech.create({
      model: 'openai/tts-1',
      input: 'Hi',
      voice: 'alloy',
      stream_format: 'sse'
    })
    t.same(Buffer.from(await spoken.arrayBuffer()), sound)
    const heard = await client.audio.transcriptions.create({
      file: await file(),
      model: 'openai/whisper-1',
      temperature: 0.2
    })
    t.match(heard, { text: 'Hello.' })
    const subtitles: unknown = await client.audio.transcriptions.create({
      file: await file(),
      model: 'openai/whisper-1',
      response_format: 'vtt'
    })
    t.equal(subtitles, 'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello.\n\n')
    t.match(await client.audio.translations.create({ file: await file(), model: 'openai/whisper-1' }), {
      text: 'Hello.'
    })
  }
  const heard = async (recording: Uploadable): Promise<void> => {
    await openai.audio.transcriptions.create({ file: recording, model: 'whisper-1' })
    const [last] = upstream.requests.slice(-1)
    t.same(last && (await partsOf(last)).find(([name]) => name === 'file')?.[1], {
      name: 'talk.wav', type: 'application/octet-stream', base64: wav.toString('base64')
    })
  }
  const folder = t.testdir({ 'talk.wav': wav })
  await heard(createReadStream(join(folder, 'talk.wav')))
  await heard(new File([new Uint8Array(wav)], 'talk.wav'))
  await heard(await toFile(new Blob([new Uint8Array(wav)]), 'talk.wav'))
  const timed = await openai.audio.transcriptions.create({
    file: await file(),
    model: 'whisper-1',
    response_format: 'verbose_json',
    timestamp_granularities: ['word']
  })
  t.same(timed.words, words)
  const stream = await openai.audio.transcriptions.create({
    file: await file(), model: 'openai/gpt-4o-transcribe', stream: true, include: ['logprobs'],
    chunking_strategy: { type: 'server_vad', silence_duration_ms: 500, threshold: 0.4 }
  })
  const types: string[] = []
  for await (const event of stream) types.push(event.type)
  t.same(types, ['transcript.text.delta', 'transcript.text.done'])
  const [last] = upstream.requests.slice(-1)
  t.same(
    last && (await partsOf(last)).find(([name]) => name === 'chunking_strategy'),
    ['chunking_strategy', '{"type":"server_vad","silence_duration_ms":500,"threshold":0.4}'],
    'which the client sends field by field'
  )
  const wrong: unknown = await openai.audio.transcriptions
    .create({ file: await file(), model: 'none/x' })
    .catch((error: unknown) => error)
  t.ok(wrong instanceof OpenAI.NotFoundError)
})

t.test('the sandbox makes playable files as long as the text takes to read', async t => {
  const api = await testGateway(t, {
    providers: [{ ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }]
  })
  const input = 'A sentence of words, spoken by no one. '.repeat(10).trim()
  const expected = input.length / 15
  for (const [format, mediaType] of [
    ['wav', 'audio/wav'], ['pcm', 'audio/pcm'], ['mp3', 'audio/mpeg'], ['aac', 'audio/aac']
  ] as const) {
    for (const speed of [1, 4]) {
      const response = await api.post(speech, {
        model: 'sandbox/speaker',
        input,
        voice: 'any',
        response_format: format,
        speed
      })
      t.equal(response.headers.get('content-type'), mediaType)
      const bytes = Buffer.from(await response.arrayBuffer())
      const seconds = secondsOf(format, bytes)
      t.ok(
        seconds >= expected / speed - 0.001 && seconds <= expected / speed + 0.05,
        `${format}: ${seconds} for ${expected / speed}`
      )
      if (!existsSync(ffmpeg) || format === 'pcm') continue
      const heard = (await decoded(bytes)).length / 48_000
      t.ok(Math.abs(heard - expected / speed) < 0.1, `${format}: a decoder hears ${heard} s`)
    }
  }
  for (const format of ['flac', 'opus']) {
    const refused = await api.post(speech, {
      model: 'sandbox/speaker',
      input,
      voice: 'any',
      response_format: format
    })
    t.equal(refused.status, 400)
    t.match(await json(refused), {
      error: { code: 'unsupported_parameter', param: 'response_format', message: /pcm, wav, mp3, aac/ }
    })
  }
  const streamed = await (
    await api.post(speech, {
      model: 'sandbox/speaker',
      input: 'Hi there',
      voice: 'any',
      response_format: 'wav',
      stream_format: 'sse'
    })
  ).text()
  const pieces = [...streamed.matchAll(/"audio":"([^"]+)"/g)].map(([, audio = '']) =>
    Buffer.from(audio, 'base64')
  )
  t.equal(pieces.length, 2, 'one a word')
  t.ok(secondsOf('wav', Buffer.concat(pieces)) > 0.5)
  t.match(streamed, /"speech\.audio\.done","usage":\{"input_tokens":2,/)
})

t.test(
  'the local text-to-speech program works',
  { skip: espeak === undefined && 'eSpeak NG is not installed' },
  async t => {
    const api = await testGateway(t, { providers: [providerSettings('local', 'local')] })
    const input = 'One, two, three, four, five, six.'
    const say = async (more: object = {}): Promise<Response> =>
      await api.post(speech, { model: 'local/tts', input, voice: 'alloy', ...more })
    await until(() => api.gateway.services.models.routes('local/tts').length > 0, 'local/tts to be listed')
    const wav = await say()
    t.equal(wav.headers.get('content-type'), 'audio/wav')
    const seconds = secondsOf('wav', Buffer.from(await wav.arrayBuffer()))
    t.ok(seconds > 1 && seconds < 10, `${seconds} s`)
    const pcm = Buffer.from(await (await say({ response_format: 'pcm' })).arrayBuffer())
    t.ok(Math.abs(secondsOf('pcm', pcm) - seconds) < 0.01, 'as long at another rate')
    t.ok(
      pcm.some(byte => byte !== 0),
      'and not silent'
    )
    const fast = Buffer.from(await (await say({ speed: 2, response_format: 'wav' })).arrayBuffer())
    t.ok(secondsOf('wav', fast) < seconds * 0.8)
    t.equal(
      (await say({ voice: '-w /tmp/x', input: '--help' })).status,
      200,
      'neither voice nor text are options'
    )
    const mp3 = await say({ response_format: 'mp3' })
    t.equal(mp3.status, 400)
    t.match(await json(mp3), { error: { code: 'unsupported_parameter', param: 'response_format' } })
  }
)
