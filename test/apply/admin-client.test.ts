import t from 'tap'
import { AdminApiError, AdminClient } from '../../lib/apply/admin-client.ts'
import { httpServer } from '../support/http-server.ts'

t.test('lists are read page by page, with a limit on the number of pages', async t => {
  const asked: string[] = []
  const { url } = await httpServer(t, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    const page = /cursor=(\d+)/.exec(request.url ?? '')?.[1] ?? '0'
    const goesOn = request.url?.includes('endless') === true || Number(page) < 2
    const entry = { id: `key-${page}`, name: 'a', host: 'b', created_at_ms: 1, last_used_at_ms: null }
    const next = goesOn ? String(Number(page) + 1) : null
    response.end(JSON.stringify({ object: 'list', data: [entry], next_cursor: next }))
  })
  const client = new AdminClient(url, 'hga_key')
  const list = async (status: string): Promise<unknown[]> =>
    (await client.list<{ id: string }>('GET /admin/v1/passkeys', {}, { status })).map(({ id }) => id)
  t.same(await list('active'), ['key-0', 'key-1', 'key-2'])
  t.same(asked.slice(0, 2), [
    'GET /admin/v1/passkeys?limit=200&status=active Bearer hga_key',
    'GET /admin/v1/passkeys?limit=200&status=active&cursor=1 Bearer hga_key'
  ])
  await t.rejects(list('endless'), /GET \/admin\/v1\/passkeys has more than 1000 pages/)
})

t.test(
  'ids are escaped in paths, and an unexpected response is an error that does not contain the key',
  async t => {
    const asked: Array<string | undefined> = []
    const { url } = await httpServer(t, (request, response) => {
      asked.push(request.url)
      if (request.url === '/admin/v1/users')
        response.writeHead(302, { location: 'http://elsewhere.example/' }).end()
      else
        response
          .writeHead(request.method === 'DELETE' ? 404 : 200, { 'content-type': 'text/html' })
          .end('<html>')
    })
    const client = new AdminClient(url, 'hga_secret')
    const page = 'which is not an answer of the admin API. Is this the address of a gateway with a dashboard?'
    await t.rejects(
      client.send('DELETE /admin/v1/keys/:key_id', { key_id: 'a/../b' }),
      new AdminApiError(`DELETE /admin/v1/keys/a%2F..%2Fb: 404, ${page}`)
    )
    t.same(asked, ['/admin/v1/keys/a%2F..%2Fb'])
    await t.rejects(client.send('GET /admin/v1/projects'), /200, which is not an answer/)
    await t.rejects(
      client.send('GET /admin/v1/users'),
      /GET \/admin\/v1\/users: fetch failed: unexpected redirect/
    )
  }
)

t.test('an invalid response gives an error of one line without terminal control characters', async t => {
  let body = ''
  let status = 200
  const { url } = await httpServer(t, (_request, response) => {
    response.writeHead(status).end(body)
  })
  const client = new AdminClient(url, 'hga_key')
  const passkey = { id: 'a', name: 'a', host: 'b', created_at_ms: 1, last_used_at_ms: null }
  const tooMany = Array.from({ length: 201 }, () => passkey)
  for (const data of [undefined, null, 'text', 7, [7], [null], {}, [{ ...passkey, name: 7 }], tooMany]) {
    body = JSON.stringify({ object: 'list', data, next_cursor: null })
    await t.rejects(
      client.list('GET /admin/v1/passkeys'),
      new AdminApiError(
        'GET /admin/v1/passkeys: its answer is not a page of the list that this version reads.'
      )
    )
  }
  status = 400
  body = JSON.stringify({ error: { message: `a\u001b[2J\nb${'x'.repeat(1000)}` } })
  await t.rejects(
    client.list('GET /admin/v1/keys'),
    new AdminApiError(`GET /admin/v1/keys: 400: a\\u001b[2J\\u000ab${'x'.repeat(493)}`)
  )
})
