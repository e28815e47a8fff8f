import t from 'tap'
import { audioFileName } from '../../lib/audio/audio-format.ts'
import { wavOf } from '../support/forms.ts'
import type { UploadedFile } from '../../lib/core/upload.ts'

function file (name: string, head: Uint8Array): UploadedFile {
  return {
    name,
    head,
    mediaType: 'application/octet-stream',
    sizeBytes: head.length,
    open: async function* () {
      yield head
    }
  }
}

const wav = wavOf(100)
const unknown = Buffer.from('nothing that anything begins with')
const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')

t.test('a file name with a known extension is kept, in any case', async t => {
  for (const name of ['a.wav', 'A.MP3', 'with spaces.m4a']) {
    t.equal(await audioFileName(file(name, wav)), name)
  }
  t.equal(
    await audioFileName(file('a.mp3', unknown)),
    'a.mp3',
    'unrecognised bytes leave it to the name'
  )
})

t.test('a file name without a usable extension gets that of its bytes', async t => {
  for (const [name, expected] of [
    ['voice', 'voice.wav'],
    ['voice.tmp', 'voice.wav'],
    ['blob', 'blob.wav'],
    ['.bin', 'audio.wav'],
    ['', 'audio.wav']
  ] as const) {
    t.equal(await audioFileName(file(name, wav)), expected, name)
  }
})

t.test('FLAC and Ogg are recordings too', async t => {
  const flac = Buffer.from('664c614300000022', 'hex')
  const opus = Buffer.concat([
    Buffer.from('4f676753000200000000000000000000000000000000000000000113', 'hex'), Buffer.from('OpusHead')
  ])
  t.equal(await audioFileName(file('voice', flac)), 'voice.flac')
  t.equal(await audioFileName(file('voice.ogg', opus)), 'voice.ogg')
  t.equal(await audioFileName(file('blob.opus', opus)), 'blob.ogg')
})

t.test('bytes of another kind are refused, whatever the name says', async t => {
  await t.rejects(audioFileName(file('song.mp3', png)), {
    code: 'unsupported_format',
    param: 'file',
    message: 'The file must be one of flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm. This one is png.'
  })
  await t.rejects(audioFileName(file('song.txt', unknown)), {
    message: 'The file must be one of flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm.'
  })
})
