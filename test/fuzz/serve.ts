/**
 * Starts the gateway that `run.sh` sends generated requests to, with the sandbox and fake providers of three
 * wire formats. Prints its address and exits when standard input ends.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createGateway } from '../../lib/gateway.ts'
import { createLog } from '../../lib/log/log.ts'
import { upstreamAt } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'

const root = join(import.meta.dirname, '../../..')
const fixture = (name: string): string => readFileSync(join(root, 'test/fixtures', name), 'utf8')
const stream = (text: string): Script => ({ headers: eventStream, pieces: [text] })
const json = (text: string): Script => ({ pieces: [text] })

const answers: ReadonlyArray<readonly [path: RegExp, answer: (request: SeenRequest) => Script]> = [
  [
    /\/chat\/completions$/,
    ({ text }) =>
      isStreamed(text) ? stream(chatFrames(['one', ' two']).join('')) : json(chatAnswer('one two'))
  ],
  [
    /\/messages$/,
    ({ text }) =>
      isStreamed(text) ? stream(fixture('anthropic/text.sse')) : json(fixture('anthropic/text.json'))
  ],
  [/:streamGenerateContent/, () => stream(fixture('google/text.sse'))],
  [/:generateContent/, () => json(fixture('google/text.json'))],
  [/\/embeddings$/, ({ json: body }) => json(vectors(body))],
  [/\/audio\/speech$/, () => ({ headers: { 'content-type': 'audio/mpeg' }, pieces: ['sound'] })],
  [/\/audio\//, () => json('{"text":"words"}')],
  [/\/images\//, () => json('{"created":1,"data":[{"b64_json":"AAAA"}]}')],
  [/\/ocr$/, () => json('{"pages":[{"index":0,"markdown":"words"}]}')]
]

function isStreamed (text: string): boolean {
  return /"stream"\s*:\s*true/.test(text)
}

/** One vector for each input that the request counts. */
function vectors (body: unknown): string {
  const { input, encoding_format: form } = Object(body) as { input?: unknown, encoding_format?: unknown }
  const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1
  const embedding = form === 'base64' ? 'AAAAPwAAgD8=' : [0.5, 1]
  const data = Array.from({ length: count }, (_, index) => ({ index, embedding }))
  return JSON.stringify({ data, usage: { prompt_tokens: 1, total_tokens: 1 } })
}

const upstream = await fakeUpstream(request => {
  const path = request.path.split('?', 1)[0] ?? ''
  return answers.find(([pattern]) => pattern.test(path))?.[1](request) ?? { status: 404, pieces: ['{}'] }
})
const base = settings()
const gateway = await createGateway(settings({
  server: { ...base.server, publicHealth: true },
  limits: { ...base.limits, openCalls: 1000 },
  providers: [
    { ...providerSettings('sandbox', 'sandbox'), baseUrl: 'sandbox:', options: { words_per_second: 0 } },
    upstreamAt(`${upstream.url}/v1`),
    upstreamAt(upstream.url, 'anthropic', 'anthropic'),
    upstreamAt(upstream.url, 'google', 'google'),
    upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral')
  ]
}), {
  keys: { check: presented => presented === 'fuzz' ? { id: 'fuzz', name: 'fuzz' } : undefined },
  log: createLog('error', { write: line => { process.stderr.write(line) } })
})
const { port } = await gateway.listen()
process.stdout.write(`http://127.0.0.1:${port}\n`)
process.stdin.on('end', () => {
  void (async () => {
    await gateway.close()
    await upstream.close()
  })()
}).resume()
