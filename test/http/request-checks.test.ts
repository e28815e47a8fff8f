import t from 'tap'
import { allowedHosts } from '../../lib/http/allowed-hosts.ts'
import { raw, rest } from '../support/raw.ts'
import { refusal, smallApp } from '../support/small-app.ts'

t.test('a request that no endpoint could serve is refused before routing', async t => {
  const { url } = await smallApp(t)
  const rows: ReadonlyArray<readonly [title: string, request: string, status: number, message: string]> = [
    ['no Host', 'GET /plain HTTP/1.1\r\n', 400, 'The request has no Host header.'],
    [
      'two Hosts',
      'GET /plain HTTP/1.1\r\nhost: x\r\nHost: x\r\n',
      400,
      'The request has more than one Host header.'
    ],
    ['no URL', 'GET http://[ HTTP/1.1\r\nhost: x\r\n', 400, 'The URL of the request is not valid.'],
    [
      'an unknown expectation',
      'GET /plain HTTP/1.1\r\nhost: x\r\nexpect: nonsense\r\n',
      417,
      'Only the expectation `100-continue` is supported.'
    ],
    [
      'another transfer coding',
      'GET /plain HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n',
      400,
      'Only the transfer coding `chunked` is supported.'
    ]
  ]
  for (const [title, request, status, message] of rows) {
    const socket = await raw(t, url)
    socket.write(`${request}connection: close\r\n\r\n`)
    const [head = '', body = ''] = (await rest(socket)).split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), title)
    t.same(JSON.parse(body), refusal(message, 'invalid_value'), title)
  }
})

t.test('a forbidden host name is refused in every place a request can carry it', async t => {
  const { url } = await smallApp(t, { allowsHost: allowedHosts({ host: '127.0.0.1', acceptedHosts: [] }) })
  const rows: ReadonlyArray<readonly [request: string, status: number]> = [
    ['GET /plain HTTP/1.1\r\nhost: localhost', 200],
    ['GET /plain HTTP/1.1\r\nhost: evil.example', 421],
    ['GET http://localhost/plain HTTP/1.1\r\nhost: localhost', 200],
    ['GET http://evil.example/plain HTTP/1.1\r\nhost: localhost', 421],
    ['GET http://localhost@evil.example/plain HTTP/1.1\r\nhost: localhost', 421],
    ['GET http://localhost/plain HTTP/1.1\r\nhost: evil.example', 421],
    ['GET /plain HTTP/1.0\r\nhost: localhost', 200],
    ['GET /plain HTTP/1.0', 400],
    ['GET http://evil.example/plain HTTP/1.0', 400]
  ]
  for (const [request, status] of rows) {
    const socket = await raw(t, url)
    socket.write(`${request}\r\nconnection: close\r\n\r\n`)
    t.match(await rest(socket), new RegExp(`^HTTP/1\\.1 ${status} `), request)
  }
})
