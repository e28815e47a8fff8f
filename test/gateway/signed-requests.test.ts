/**
 * Providers with signed requests: built only with `headgate/providers`, with a server that verifies.
 */

import { createHash, createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  createProvider,
  httpTransport,
  ProviderFailure,
  Secret,
  type CredentialHeaders,
  type Provider,
  type Signer,
  type UnsignedRequest
} from '../../lib/public/providers.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream, type Script } from '../support/upstream.ts'
import type { SeenRequest } from '../support/upstream.ts'

const path = '/v1/chat/completions'
const secrets = new Map([['AK1', 'first secret'], ['AK2', 'second secret'], ['AK3', "a caller's secret"]])
const signedHeaders = ['accept-encoding', 'content-type', 'user-agent', 'x-date']

/**
 * Similar to AWS Signature Version 4: a key for the day, and a signature over the request with a digest of
 * its body.
 */
function signatureOf (
  secret: string,
  { method, url, headers, body = new Uint8Array() }: Omit<UnsignedRequest, 'headers'> & {
    readonly headers: Readonly<Record<string, unknown>>
  }
): string {
  const { host, pathname, searchParams } = new URL(url)
  searchParams.sort()
  const digest = createHash('sha256').update(body).digest('hex')
  const lines = signedHeaders.map(name => `${name}:${String(headers[name])}`)
  const canonical = [method, pathname, searchParams, `host:${host}`, ...lines, digest].join('\n')
  const key = createHmac('sha256', `K4${secret}`).update(String(headers['x-date']).slice(0, 10)).digest()
  return createHmac('sha256', key).update(canonical).digest('hex')
}

let signatures = 0

/** @param key `ACCESS:SECRET` */
function signer (key: string): Signer {
  const [accountId = '', secret = ''] = key.split(':')
  return {
    accountId,
    sign: async request => {
      const dated = { 'x-date': `2026-01-01 ${++signatures}` }
      const signature = signatureOf(secret, { ...request, headers: { ...request.headers, ...dated } })
      return { ...dated, authorization: `${accountId} ${signature}` }
    }
  }
}

/** Returns the access key of a validly signed request, if it was not sent before. */
function verified (url: string, { method, path, headers, bytes }: SeenRequest, seen: Set<string>): string {
  const [accessKey = '', signature = ''] = String(headers.authorization).split(' ')
  const secret = secrets.get(accessKey) ?? ''
  const expected = signatureOf(secret, { method, url: url + path, headers, body: bytes })
  if (signature !== expected) throw new Error('the signature is wrong')
  if (seen.has(signature)) throw new Error('the request was sent before')
  seen.add(signature)
  return accessKey
}

interface Signed {
  readonly api: TestGateway
  /** The validly signed requests, by access key. */
  readonly accepted: string[]
  readonly refused: string[]
}

/** A provider of the dialect with two accounts, whose requests are signed. @param answer by access key */
async function signed (
  t: Test,
  answer: (accessKey: string, request: SeenRequest, number: number) => Script,
  signerOf = signer
): Promise<Signed> {
  const accepted: string[] = []
  const refused: string[] = []
  const seen = new Set<string>()
  const upstream = await fakeUpstream((request, number): Script => {
    try {
      const accessKey = verified(upstream.url, request, seen)
      accepted.push(accessKey)
      return answer(accessKey, request, number)
    } catch (error) {
      refused.push(String(error))
      return { status: 403, pieces: ['{}'] }
    }
  })
  const keys = ['AK1', 'AK2'].map(key => `${key}:${secrets.get(key)}`)
  const entry = upstreamAt(`${upstream.url}/prefix/v1?region=moon`, 'signed', 'openai', {
    apiKeys: keys.map(key => ({ key: new Secret(key), weight: 1 })),
    retries: 2
  })
  const transport = httpTransport({ baseUrl: entry.baseUrl, connections: 4, connectMs: 5000 })
  const provider: Provider = {
    ...createProvider(entry, transport),
    authorize: (callerKey, index = 0) => signerOf(callerKey ?? keys[index] ?? '')
  }
  const api = await testGateway(t, { providers: [entry] }, {}, { providers: [provider] })
  t.teardown(async () => {
    await upstream.close()
    await transport.close()
  })
  return { api, accepted, refused }
}

const responses = { input: [{ role: 'user', content: 'hi' }], store: false }

t.test('signatures cover method, path, query, headers and the whole body', async t => {
  const { api, accepted, refused } = await signed(t, (_, { json }) =>
    (json as { stream?: boolean } | undefined)?.stream === true
      ? { headers: eventStream, pieces: chatFrames(['a']) }
      : { pieces: [chatAnswer('fine')] })
  const large = 'ü€𝄞'.repeat(100_000) // larger than a single write
  for (const messages of ['hi', large]) {
    const answer = await api.post(path, { model: 'signed/m', messages })
    t.equal(answer.status, 200)
    t.match(await answer.json(), { choices: [{ message: { content: 'fine' } }] })
  }
  const streamed = await api.post(path, { model: 'signed/m', messages: 'hi', stream: true })
  t.match(await streamed.text(), '[DONE]')
  t.same(refused, [])
  t.equal(accepted.length, 3)
})

t.test('a form with a file is signed too', async t => {
  const { api, accepted, refused } = await signed(t, () => ({ pieces: ['{"text":"hello"}'] }))
  const form = new FormData()
  form.set('model', 'signed/whisper-1')
  form.set('file', new File([Buffer.alloc(200_000, 'RIFF')], 'a.wav'))
  const answer = await fetch(`${api.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: 'Bearer My API Key' },
    body: form
  })
  t.match(await answer.json(), { text: 'hello' })
  t.same(refused, [])
  t.equal(accepted.length, 1)
})

t.test('each attempt has its own signature', async t => {
  const { api, accepted, refused } = await signed(t, (_key, _request, number) =>
    number < 2 ? { status: 503, pieces: ['{}'] } : { pieces: [chatAnswer('fine')] })
  const answer = await api.post(path, { model: 'signed/m', messages: 'hi' })
  t.equal(answer.status, 200)
  t.same(refused, [])
  t.equal(accepted.length, 3)
})

t.test('a rate-limited account is replaced by the other', async t => {
  const limited = new Set<string>()
  const { api, accepted, refused } = await signed(t, accessKey =>
    limited.has(accessKey)
      ? { status: 429, headers: { 'retry-after': '30' }, pieces: ['{}'] }
      : { pieces: [chatAnswer('fine')] })
  const ask = async (): Promise<number> =>
    (await api.post(path, { model: 'signed/m', messages: 'hi' })).status
  t.equal(await ask(), 200)
  const [first = ''] = accepted.splice(0)
  limited.add(first)
  const other = first === 'AK1' ? 'AK2' : 'AK1'
  for (let call = 0; call < 4; call++) t.equal(await ask(), 200)
  t.equal(accepted.filter(accessKey => accessKey === other).length, 4)
  t.same(refused, [])
})

t.test('a key from the caller signs instead of those of the gateway', async t => {
  const { api, accepted, refused } = await signed(t, () => ({ pieces: [chatAnswer('fine')] }))
  const headers = { 'x-provider-key': `AK3:${secrets.get('AK3')}` }
  const answer = await api.post(path, { model: 'signed/m', messages: 'hi' }, { headers })
  t.equal(answer.status, 200)
  t.same({ accepted, refused }, { accepted: ['AK3'], refused: [] })
})

t.test('encrypted reasoning returns to its account, although every signature differs', async t => {
  const reads: unknown[] = []
  const { api, accepted, refused } = await signed(t, (accessKey, { json }) => {
    const { input } = json as { input: Array<{ encrypted_content?: string }> }
    reads.push(input.flatMap(item => item.encrypted_content ?? []))
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: `gAAA.${accessKey}` },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'ok', annotations: [] }]
      }
    ]
    const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10 }
    const answer = { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-5', output, usage }
    return { pieces: [JSON.stringify(answer)] }
  })
  for (let conversation = 0; conversation < 8; conversation++) {
    const first = await api.post('/v1/responses', { model: 'signed/gpt-5', ...responses })
    const { output } = await first.json() as { output: object[] }
    const input = [...responses.input, ...output, ...responses.input]
    await (await api.post('/v1/responses', { model: 'signed/gpt-5', ...responses, input })).text()
    const [one, two] = accepted.splice(0)
    t.equal(two, one)
    t.same(reads.splice(0)[1], [`gAAA.${one}`])
  }
  t.same(refused, [])
})

t.test('an error of the signer counts as a provider failure', async t => {
  const failures: Array<[() => CredentialHeaders, number, string]> = [
    [() => { throw new ProviderFailure({ kind: 'credential' }) }, 502, 'upstream_auth_failed'],
    [() => { throw new Error('the token server is unreachable') }, 502, 'upstream_unreachable']
  ]
  for (const [sign, status, code] of failures) {
    const { api, accepted } = await signed(t, () => ({}), accountId => ({ accountId, sign }))
    const answer = await api.post(path, { model: 'signed/m', messages: 'hi' })
    t.equal(answer.status, status)
    t.match(await answer.json(), { error: { code } })
    t.same(accepted, [])
  }
})
