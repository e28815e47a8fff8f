import t from 'tap'
import { describeRedirect, redirectTarget } from '../../lib/providers/redirect.ts'
import { testGateway, testKey, upstreamAt } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import { said, speech, transcriptions, wav } from '../support/audio.ts'

const to = (location: string | string[] | undefined, status = 308): string | undefined =>
  redirectTarget({ status, headers: { location } })

t.test('a redirect is described by host and path, without anything that may be secret', t => {
  const rows: ReadonlyArray<readonly [location: string | string[] | undefined, target: string]> = [
    ['https://api.example.com/v1/chat/completions', '`https://api.example.com/v1/chat/completions`'],
    ['https://me:pass@api.example.com:8443/v1?key=sk-1#top', '`https://api.example.com:8443/v1`'],
    ['//api.example.com/v1', '`http://api.example.com/v1`'],
    ['/v1/chat/completions/?key=sk-1', '`/v1/chat/completions/`'],
    ['../v2', '`/v2`'],
    [['https://one.example/', 'https://two.example/'], '`https://one.example/`'],
    [`https://api.example.com/${'a'.repeat(5000)}`, `\`https://api.example.com/${'a'.repeat(176)}\``],
    [undefined, 'another address'],
    ['', 'another address'],
    ['https://', 'another address'],
    ['javascript:alert(1)', 'another address']
  ]
  for (const [location, target] of rows) t.equal(to(location), target, String(location).slice(0, 80))
  t.end()
})

t.test('other statuses are no redirects', t => {
  for (const status of [200, 300, 304, 305, 404, 500]) t.equal(to('https://a.example/', status), undefined)
  t.equal(describeRedirect({ status: 404, headers: {} }), undefined)
  for (const status of [301, 302, 303, 307, 308]) t.ok(to('https://a.example/', status))
  t.end()
})

const sentence =
  'The provider answered with a redirect (308) to `https://moved.example/v1/x`: its `base_url` in the configuration probably has to be changed (see `headgate doctor`).'

t.test('a redirect is not retried, opens no circuit and names `base_url`, on every endpoint', async t => {
  const upstream = await fakeUpstream(() => ({
    status: 308,
    headers: { location: 'https://user:sk-canary@moved.example/v1/x?key=sk-canary' },
    pieces: ['<html>sk-canary</html>']
  }))
  t.teardown(upstream.close)
  const retries = { retries: 3 }
  const api = await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', retries),
      upstreamAt(upstream.url, 'anthropic', 'anthropic', retries),
      upstreamAt(upstream.url, 'google', 'google', retries),
      upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral', retries)
    ]
  })
  const chat = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 }
  const form = new FormData()
  form.set('model', 'openai/whisper-1')
  form.set('file', new File([wav], 'a.wav'))
  const rows: ReadonlyArray<readonly [path: string, body: object]> = [
    ...['openai/gpt-4.1', 'anthropic/claude-sonnet-4-5', 'google/gemini-2.5-flash', 'mistral/m'].flatMap(
      model => [
        ['/v1/chat/completions', { ...chat, model }] as const,
        ['/v1/chat/completions', { ...chat, model, stream: true }] as const
      ]
    ),
    ['/v1/responses', { model: 'openai/gpt-4.1', input: 'hi' }],
    ['/v1/messages', { model: 'anthropic/claude-sonnet-4-5', ...chat }],
    ['/v1/completions', { model: 'openai/davinci-002', prompt: 'hi' }],
    ['/v1/embeddings', { model: 'openai/text-embedding-3-small', input: 'hi' }],
    ['/v1/images/generations', { model: 'openai/gpt-image-1', prompt: 'hi' }],
    [speech, said],
    [transcriptions, form]
  ]
  for (const [path, body] of rows) {
    const before = upstream.requests.length
    const title = `${path} ${JSON.stringify(body)}`
    const response = body instanceof FormData
      ? await fetch(api.url + path, { method: 'POST', headers: { 'x-api-key': testKey }, body })
      : await api.post(path, body)
    const { error } = await response.json() as { error: { message: string } }
    t.equal(response.status, 502, title)
    t.equal(response.headers.get('x-should-retry'), 'false', title)
    t.equal(error.message, sentence, title)
    t.equal(upstream.requests.length - before, 1, `${title}: one request`)
  }
  t.same([...api.gateway.services.routingState.circuits()], [], 'no model counts as failing')
})

t.test('another model of the call answers at once', async t => {
  const moved = await fakeUpstream({ status: 307, headers: { location: '/elsewhere' } })
  t.teardown(moved.close)
  const upstream = await fakeUpstream({ pieces: [chatAnswer('hello')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt(moved.url, 'moved', 'openai-compatible'),
      upstreamAt(upstream.url, 'other', 'openai-compatible')
    ]
  })
  const model = ['moved/m', 'other/m']
  const response = await api.post('/v1/chat/completions', { messages: 'hi', model })
  t.equal(response.status, 200)
  t.equal(moved.requests.length, 1)
})
