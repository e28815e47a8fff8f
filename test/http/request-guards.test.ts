import t from 'tap'
import { raw, rest } from '../support/raw.ts'
import { refusal, smallApp } from '../support/small-app.ts'

t.test('a request that cannot be met by any endpoint is refused before one is looked for', async t => {
  const { url } = await smallApp(t)
  const rows: ReadonlyArray<readonly [title: string, request: string, status: number, message: string]> = [
    ['no Host', 'GET /plain HTTP/1.1\r\n', 400, 'The request has no Host header.'],
    ['no URL', 'GET http://[ HTTP/1.1\r\nhost: x\r\n', 400, 'The URL of the request is not valid.'],
    ['an unknown expectation', 'GET /plain HTTP/1.1\r\nhost: x\r\nexpect: nonsense\r\n', 417, 'Only the expectation `100-continue` is supported.']
  ]
  for (const [title, request, status, message] of rows) {
    const socket = await raw(t, url)
    socket.write(`${request}connection: close\r\n\r\n`)
    const [head = '', body = ''] = (await rest(socket)).split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), title)
    t.same(JSON.parse(body), refusal(message, 'invalid_value'), title)
  }
})
