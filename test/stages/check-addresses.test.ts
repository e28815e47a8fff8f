import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/core/stage.ts'
import { checkAddresses, type Resolve } from '../../lib/stages/check-addresses.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { collect, routedCall } from '../support/stages.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

const known: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['1.1.1.1'], 'mixed.test': ['1.1.1.1', '10.0.0.1'], 'inner.test': ['192.168.1.5'], localhost: ['127.0.0.1', '::1'],
  'vllm': ['172.18.0.2'], 'api.test': ['1.0.0.1']
}

/** Resolves the names of a test; an address is its own. */
const resolve: Resolve = async name => {
  const found = known[name] ?? (/^[\d.]+$|:/.test(name) ? [name] : undefined)
  if (found === undefined) throw new Error('ENOTFOUND')
  return found
}

function withImages (...urls: string[]): ChatInput {
  return { model: 'one/m', messages: [{ role: 'user', content: urls.map(url => ({ type: 'image_url', image_url: { url } })) }] }
}

function withFile (data: string): ChatInput {
  return { model: 'one/m', messages: [{ role: 'system', content: 'x' }, { role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'file', file: { file_data: data } }] }] }
}

function providerAt (kind: ProviderKind, baseUrl: string): ProviderSettings {
  return { ...providerSettings('one', kind), baseUrl }
}

const vllm = providerAt('vllm', 'http://vllm:8000/v1')

async function check (request: ChatInput, provider: ProviderSettings = vllm, allowedHosts: string[] = []): Promise<unknown> {
  const stage = checkAddresses({ settings: { providers: [provider], tools: { allowedHosts } } }, resolve)
  const call = routedCall(request)
  try {
    const [passed] = await collect(stage(once(call)))
    return passed === call ? 'passed' : 'changed'
  } catch (error) {
    return error instanceof GatewayError && error.code === 'invalid_value' ? error.param : error
  }
}

const refusedUrls = [
  'http://169.254.169.254/latest/meta-data', 'http://127.0.0.1:8080/', 'http://10.0.0.1/a.png', 'http://[::1]/', 'http://2130706433/', 'http://0x7f.1/',
  'http://[::ffff:10.0.0.1]/', 'http://localhost/a.png', 'http://inner.test/', 'https://mixed.test/a.png', 'http://unknown.test/', 'http://user@127.0.0.1/',
  'file:///etc/passwd', 'ftp://1.1.1.1/a', '//127.0.0.1/a.png', ' http://127.0.0.1/', 'HTTP://127.0.0.1/', 'http:127.0.0.1', 'http://'
]

t.test('a server of the operator is not sent to an address that is not public', async t => {
  for (const url of refusedUrls) {
    t.equal(await check(withImages('https://public.test/a.png', url)), 'messages[0].content[1].image_url.url', url)
    t.equal(await check(withFile(url)), 'messages[1].content[1].file.file_data', `${url} as a file`)
  }
})

t.test('public addresses and what holds its own bytes pass', async t => {
  for (const url of ['https://public.test/a.png', 'http://1.1.1.1/', 'https://[2606:4700::1111]/', 'data:image/png;base64,AAAA', 'AAAA']) {
    t.equal(await check(withImages(url)), 'passed', url)
    t.equal(await check(withFile(url)), 'passed', `${url} as a file`)
  }
  t.equal(await check({ model: 'one/m', messages: [{ role: 'user', content: 'http://127.0.0.1/' }] }), 'passed', 'text')
})

t.test('the operator allows hosts and ranges', async t => {
  t.equal(await check(withImages('http://inner.test/'), vllm, ['inner.test']), 'passed')
  t.equal(await check(withImages('http://inner.test/'), vllm, ['192.168.0.0/16']), 'passed')
  t.equal(await check(withImages('http://inner.test:81/'), vllm, ['inner.test:80']), 'messages[0].content[0].image_url.url')
})

t.test('servers of the operator are known by their kind or by their address', async t => {
  const inner = withImages('http://10.0.0.1/')
  for (const kind of ['vllm', 'ollama', 'sglang', 'llama.cpp', 'lm-studio'] as const) {
    t.type(await check(inner, providerAt(kind, 'https://api.test/v1')), 'string', kind)
    t.not(await check(inner, providerAt(kind, 'https://api.test/v1')), 'passed', kind)
  }
  for (const baseUrl of ['http://vllm:8000/v1', 'http://127.0.0.1:8000', 'http://[fd00::1]/v1', 'http://unknown.test/v1']) {
    t.not(await check(inner, providerAt('openai-compatible', baseUrl)), 'passed', baseUrl)
  }
  t.equal(await check(inner, providerAt('openai-compatible', 'https://api.test/v1')), 'passed', 'a service on the internet')
  t.equal(await check(inner, providerAt('openai', 'https://api.test/v1')), 'passed')
})

t.test('one request may name 16 hosts', async t => {
  const urls = (count: number): string[] => Array.from({ length: count }, (_, index) => `http://1.1.1.${index}/`)
  t.equal(await check(withImages(...urls(16), ...urls(16))), 'passed')
  t.equal(await check(withImages(...urls(17))), 'messages[0].content[16].image_url.url')
})

t.test('a call with an inner address is 400, and the server is not called', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'vllm', 'vllm')], tools: { ...settings().tools, allowedHosts: ['127.0.0.2'] }
  })
  const ask = async (url: string): Promise<Response> => await api.post('/v1/chat/completions', {
    model: 'vllm/m', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  })
  const answer = await ask('http://169.254.169.254/latest')
  t.equal(answer.status, 400)
  t.match(await answer.json(), { error: { code: 'invalid_value', param: 'messages[0].content[0].image_url.url', message: /is not public/ } })
  t.equal(upstream.requests.length, 0)
  for (const url of ['http://127.0.0.2/a.png', 'http://1.1.1.1/a.png', 'data:image/png;base64,AAAA']) {
    t.equal((await ask(url)).status, 200, url)
    t.match(upstream.requests.at(-1)?.text, url)
  }
})
