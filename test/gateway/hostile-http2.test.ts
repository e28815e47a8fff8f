/** HTTP/2 providers that violate the protocol, or follow it and never finish. */

import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import {
  endHeaders, endStream, fourBytes, frame, head, header, lastData, startRawHttp2, type Answer, type RawHttp2
} from '../support/raw-http2.ts'
import { until } from '../support/until.ts'
import { chatAnswer } from '../support/upstream.ts'

const timeouts = {
  connectMs: 20_000, firstByteMs: 1000, responseMs: 1000, idleBytesMs: 1000, idleEventsMs: 1000
}

/** Starts a gateway whose only provider is such a server. */
async function start (
  t: Test, answer: Answer, settings?: ReadonlyArray<readonly [number, number]>
): Promise<{ readonly api: TestGateway, readonly server: RawHttp2 }> {
  const files = makeCertificate(t.testdir({}))
  const server = await startRawHttp2(t, files, answer, settings)
  const provider = upstreamAt(`https://127.0.0.1:${server.port}/v1`, 'one', 'openai-compatible', {
    http2: true,
    retries: 0,
    timeouts,
    tls: { ca: new Secret(readFileSync(files.certificate, 'utf8')) }
  })
  return { api: await testGateway(t, { providers: [provider] }), server }
}

const request = { model: 'one/m', messages: 'hi' }
const right = (stream: number): readonly Buffer[] => [
  head(stream, '200', header('content-type', 'application/json')),
  lastData(stream, chatAnswer('right'))
]
const stray = chatAnswer('stray')
const half = frame('data', 0, 1, Buffer.from(stray.slice(0, -20)))
const many = (piece: Buffer): readonly Buffer[] => Array.from({ length: 200 }, () => piece)

/** Node.js 24 ends the connection itself. */
const noStatus = /^upstream_(invalid_response|unreachable)$/
/** What the server sends for the first request of a connection, and the error code of its caller. */
const answers: Readonly<Record<string, readonly [code: string | RegExp, frames: readonly Buffer[]]>> = {
  'a status below those of HTTP': [noStatus, [head(1, '099'), lastData(1, stray)]],
  'a status of zero, and no end': [noStatus, [head(1, '000'), half]],
  'no head': ['upstream_unreachable', [frame('headers', endHeaders, 1, header('a', 'b'))]],
  'interim heads without end': ['upstream_timeout', many(head(1, '103'))],
  'a second head': ['upstream_stream_interrupted', [head(1, '200'), half, head(1, '500')]],
  'trailers that are a head': [
    'upstream_stream_interrupted',
    [head(1, '200'), half, frame('headers', endHeaders + endStream, 1, header(':status', '200'))]
  ],
  'a reset after the head': [
    'upstream_invalid_response',
    [head(1, '200'), frame('reset', 0, 1, fourBytes(8))]
  ],
  'a reset in the body': [
    'upstream_invalid_response',
    [head(1, '200'), half, frame('reset', 0, 1, fourBytes(0))]
  ],
  'an end that is too early': [
    'upstream_stream_interrupted',
    [head(1, '200', header('content-length', '1000')), half, lastData(1, '')]
  ],
  'a pushed response': [
    'upstream_unreachable',
    [
      frame('push', endHeaders, 1, Buffer.concat([fourBytes(2), Buffer.from([0x82, 0x87, 0x84])])),
      head(2, '200'),
      lastData(2, stray)
    ]
  ],
  'a response to the next request': ['upstream_unreachable', [head(3, '200'), lastData(3, stray)]],
  'the end of the connection in the body': [
    'upstream_stream_interrupted',
    [head(1, '200'), half, frame('goaway', 0, 0, Buffer.alloc(8))]
  ],
  'headers without end': [
    'upstream_unreachable',
    [frame('headers', 0, 1, header(':status', '200')), ...many(frame('continuation', 0, 1))]
  ],
  'nothing after the head': ['upstream_timeout', [head(1, '200')]],
  'empty pieces of a body': ['upstream_timeout', [head(1, '200'), ...many(frame('data', 0, 1))]]
}

t.test(
  'a provider that violates HTTP/2 gives its caller an error, and does not affect the next one',
  { skip: noOpenSsl },
  async t => {
    for (const [name, [code, sent]] of Object.entries(answers)) {
      await t.test(name, async t => {
        const { api, server } = await start(t, (stream, number) => (number === 0 ? sent : right(stream)))
        const response = await api.post('/v1/chat/completions', request)
        t.match([response.status, await response.json()], [/50[0-9]/, { error: { code } }])
        let text = ''
        await until(async () => {
          const next = await api.post('/v1/chat/completions', request)
          text = await next.text()
          return next.status === 200
        }, 'the next answer')
        t.match(text, /right/)
        await api.gateway.close()
        await until(() => server.sockets.size === 0, 'no connection')
      })
    }
  }
)

t.test('at most 20 bodies that a provider does not read are kept', { skip: noOpenSsl }, async t => {
  const initialWindowSize = 4
  let requests = 0
  const { api, server } = await start(t, () => { requests++; return [] }, [[initialWindowSize, 0]])
  for (let count = 1; count <= 20; count++) {
    const leaving = new AbortController()
    const left = api.post('/v1/chat/completions', request, { signal: leaving.signal })
    await until(() => requests === count, 'the request')
    leaving.abort()
    await t.rejects(left)
  }
  await until(() => server.sockets.size === 0, 'the connection to close with all of them')
})
