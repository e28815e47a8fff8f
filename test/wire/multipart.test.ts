import t from 'tap'
import { multipartBody, type FormPart } from '../../lib/wire/multipart.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'

function file (name: string, bytes: Buffer, mediaType = 'audio/mpeg'): FormPart {
  return {
    name: 'file',
    fileName: name,
    mediaType,
    sizeBytes: bytes.length,
    open: async function * () {
      for (const byte of bytes) yield Buffer.of(byte)
    }
  }
}

t.test('the body is readable by other form parsers, and has the stated length', async t => {
  const bytes = Buffer.from([0, 13, 10, 255, 45, 45])
  const { headers, open } = multipartBody([
    { name: 'model', value: 'whisper-ü' },
    { name: 'include[]', value: 'a' },
    { name: 'include[]', value: '' },
    file('so"ng\r\n.mp3', bytes)
  ])
  for (const time of ['once', 'again']) {
    const body = await bufferBody(open)
    t.equal(headers['content-length'], String(body.length), time)
    const form = await new Response(body, { headers }).formData()
    t.equal(form.get('model'), 'whisper-ü')
    t.same(form.getAll('include[]'), ['a', ''])
    const sent = form.get('file') as File
    t.same(
      [sent.name, sent.type, Buffer.from(await sent.arrayBuffer())],
      ['so"ng\r\n.mp3', 'audio/mpeg', bytes]
    )
  }
})

t.test('the text before, between and after files is one piece each', async t => {
  const field: FormPart = { name: 'model', value: 'm' }
  const isOfFile: boolean[] = []
  for await (const { length } of multipartBody([
    field,
    field,
    file('a', Buffer.from('x')),
    field,
    file('b', Buffer.from('y')),
    field
  ]).open()) {
    isOfFile.push(length === 1)
  }
  t.same(isOfFile, [false, true, false, true, false])
})

t.test('a form without parts is only its end', async t => {
  const { headers, open } = multipartBody([])
  const boundary = headers['content-type']?.split('boundary=')[1] ?? ''
  t.equal(String(await bufferBody(open)), `--${boundary}--\r\n`)
})

t.test('a media type cannot add a header', async t => {
  const body = String(
    await bufferBody(multipartBody([file('a', Buffer.from('x'), 'audio/mpeg\r\nX-Evil: 1')]).open)
  )
  t.notMatch(body, /^X-Evil/m)
  t.match(body, /^Content-Type: audio\/mpegX-Evil: 1\r$/m)
})

t.test('every form has its own boundary, so that a part cannot contain it', async t => {
  t.not(multipartBody([]).headers['content-type'], multipartBody([]).headers['content-type'])
})
