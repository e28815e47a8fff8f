import t from 'tap'
import { testGateway, testKey } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'

const origin = 'https://app.example.com'
const preflight = {
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, content-type'
  }
}

t.test('by default pages of other origins may not read answers', async t => {
  const { get, url } = await testGateway(t)
  t.equal((await get('/v1/models', { headers: { origin } })).headers.get('access-control-allow-origin'), null)
  t.equal((await fetch(`${url}/v1/chat/completions`, preflight)).status, 405)
})

t.test('a page of an allowed origin may call the API and read answers and errors', async t => {
  const { get, url } = await testGateway(t, { server: { ...settings().server, corsOrigins: [origin] } })
  const reply = await fetch(`${url}/v1/chat/completions`, preflight)
  t.equal(reply.status, 204)
  t.match(Object.fromEntries(reply.headers), {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': /POST/,
    'access-control-allow-headers': 'authorization, content-type',
    vary: /origin/
  })
  for (const key of [testKey, 'wrong']) {
    const { headers } = await get('/v1/models', { headers: { origin, authorization: `Bearer ${key}` } })
    t.match(
      [
        headers.get('access-control-allow-origin'),
        headers.get('access-control-expose-headers'),
        headers.get('vary')
      ],
      [origin, '*', /origin/i]
    )
    t.equal(headers.get('access-control-allow-credentials'), null)
  }
  for (const other of ['https://evil.example', 'null', `${origin}.evil.example`]) {
    t.equal(
      (await get('/v1/models', { headers: { origin: other } })).headers.get('access-control-allow-origin'),
      null,
      other
    )
  }
})

t.test('aliases belong to the API too, paths of an embedding program do not', async t => {
  const { get } = await testGateway(t, { server: { ...settings().server, corsOrigins: [origin] } })
  const allowed = async (path: string): Promise<string | null> =>
    (await get(path, { headers: { origin } })).headers.get('access-control-allow-origin')
  for (const path of [
    '/models',
    '/openai/v1/models',
    '/models/x',
    '/openai/deployments/x/embeddings',
    '/anthropic/v1/models',
    '/V1/models',
    '/Models'
  ]) {
    t.equal(await allowed(path), origin, path)
  }
  for (const path of ['/health/liveliness', '/mine', '/modelsx']) t.equal(await allowed(path), null, path)
})

t.test('the admin API and the dashboard allow no other origin, whatever is configured', async t => {
  const { get, url } = await testGateway(t, { server: { ...settings().server, corsOrigins: ['*'] } })
  t.equal(
    (await get('/v1/models', { headers: { origin: 'https://any.example' } })).headers.get(
      'access-control-allow-origin'
    ),
    'https://any.example'
  )
  for (const path of ['/admin/v1/session', '/dashboard/', '/health', '/']) {
    t.equal((await get(path, { headers: { origin } })).headers.get('access-control-allow-origin'), null, path)
    t.equal((await fetch(url + path, preflight)).headers.get('access-control-allow-origin'), null, path)
  }
})
