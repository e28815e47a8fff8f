import t from 'tap'
import { localPrograms } from '../../lib/local/programs.ts'
import { speak, type Utterance } from '../../lib/local/speak.ts'

const { espeak = '' } = await localPrograms()
const skip = espeak === '' && 'eSpeak NG is not installed'
const { signal } = new AbortController()
const say = async (parts: Partial<Utterance>): Promise<Buffer> =>
  await speak({ input: 'one two three', voice: 'en', speed: 1, format: 'wav', ...parts }, espeak, { signal })

t.test('the duration of a WAV file is read from it', { skip }, async t => {
  const wav = await say({})
  t.equal(wav.toString('latin1', 0, 4), 'RIFF')
  t.same([wav.readUInt32LE(4), wav.readUInt32LE(40)], [wav.length - 8, wav.length - 44])
})

t.test('PCM output has the sample rate of the API and the same duration', { skip }, async t => {
  const wav = await say({})
  const seconds = (wav.length - 44) / 2 / wav.readUInt32LE(24)
  const pcm = await say({ format: 'pcm' })
  t.ok(Math.abs(pcm.length / 2 / 24_000 - seconds) < 0.001)
  t.ok(pcm.some(byte => byte !== 0))
})

t.test('a higher speed shortens the recording', { skip }, async t => {
  t.ok((await say({ speed: 2 })).length < (await say({ speed: 0.5 })).length / 2)
})

t.test('no text of the caller becomes a command-line option', { skip }, async t => {
  for (const voice of ['--help', '-w/tmp/x', '../x', 'alloy', '']) {
    t.same(await say({ voice }), await say({ voice: 'en' }), voice)
  }
  t.not((await say({ voice: 'de' })).length, (await say({ voice: 'en' })).length)
  t.ok((await say({ input: '--help' })).length > 1000, 'the text neither')
})

t.test('a caller who disconnects ends the program', { skip }, async t => {
  const leaving = new AbortController()
  const speaking = speak({ input: 'word '.repeat(5000), voice: 'en', speed: 1, format: 'wav' }, espeak, {
    signal: leaving.signal
  })
  leaving.abort(new Error('left'))
  await t.rejects(speaking, { message: 'left' })
})
