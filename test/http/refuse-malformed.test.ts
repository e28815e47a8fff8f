import { once } from 'node:events'
import t from 'tap'
import { refuseMalformed } from '../../lib/http/refuse-malformed.ts'
import { httpServer } from '../support/http-server.ts'
import { raw, rest } from '../support/raw.ts'
import type { Test } from 'tap'

/** Sends bytes to a server that refuses malformed HTTP, and reads everything it answers. */
async function answerTo (t: Test, ...pieces: readonly string[]): Promise<string> {
  const { server, url } = await httpServer(t, (_request, response) => { response.write('begun') })
  refuseMalformed(server)
  const socket = await raw(t, url)
  const [first = '', second] = pieces
  socket.write(first)
  if (second === undefined) return await rest(socket)
  const [begun] = await once(socket, 'data') as [Buffer]
  socket.write(second)
  await once(socket, 'close')
  return begun.toString()
}

t.test('malformed HTTP gets a normal error answer, and the connection is closed', async t => {
  const rows: ReadonlyArray<readonly [title: string, text: string, status: string, message: string]> = [
    ['no HTTP', 'hello\r\n\r\n', '400 Bad Request', 'The request is not valid HTTP.'],
    [
      'a header without an end of its name',
      'GET / HTTP/1.1\r\nhost x\r\n\r\n',
      '400 Bad Request',
      'The request is not valid HTTP.'
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      '400 Bad Request',
      'The request is not valid HTTP.'
    ],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nx: ${'x'.repeat(70_000)}`,
      '431 Request Header Fields Too Large',
      'The request headers are too large.'
    ]
  ]
  for (const [title, text, status, message] of rows) {
    const [head = '', body = ''] = (await answerTo(t, text)).split('\r\n\r\n')
    const [line, ...headers] = head.split('\r\n')
    t.equal(line, `HTTP/1.1 ${status}`, title)
    t.match(
      headers,
      [
        /^x-request-id: \S+$/,
        'content-type: application/json; charset=utf-8',
        `content-length: ${body.length}`,
        'connection: close'
      ],
      title
    )
    t.same(
      JSON.parse(body),
      { error: { message, type: 'invalid_request_error', code: 'invalid_value', param: null } },
      title
    )
  }
})

t.test('an answer that has begun is cut off, and no other follows it', async t => {
  const text = await answerTo(t, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', 'no HTTP\r\n\r\n')
  t.match(text, /^HTTP\/1\.1 200 OK[^]*begun/)
  t.notMatch(text, 'invalid_value')
})
