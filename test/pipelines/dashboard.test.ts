import t from 'tap'
import { adminGateway } from '../support/admin.ts'
import { request } from 'undici'

t.test('a browser is redirected to the dashboard, a program is not', async t => {
  const { api } = await adminGateway(t)
  const open = async (path: string, accept = 'text/html') =>
    await request(api.url + path, { headers: { accept } })
  const { statusCode, headers } = await open('/')
  t.match([statusCode, headers['location']], [302, '/dashboard/'])
  const ofProgram = await open('/', 'application/json')
  t.equal(ofProgram.statusCode, 404)
  t.match(await ofProgram.body.text(), 'GET /openapi.json describes it', 'it says where the API is')
  for (const path of ['/dashboard', '/dashboard/']) t.equal((await open(path)).statusCode, 200, path)
  const page = await open('/dashboard/keys?status=active')
  t.match([page.statusCode, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
  const [script = ''] = /\/dashboard\/assets\/main[^"]*\.js/.exec(await page.body.text()) ?? []
  t.equal((await open(script)).statusCode, 200)
  t.equal((await open('/dashboard/assets/none.js')).statusCode, 404)
})

t.test('when disabled there is neither page nor API', async t => {
  const { api } = await adminGateway(t, { dashboard: { enabled: false, insecure: false, editConfig: false } })
  for (const path of ['/', '/dashboard/', '/dashboard/keys', '/admin/v1/sign-in', '/admin/v1/session']) {
    t.equal((await request(api.url + path, { headers: { accept: 'text/html' } })).statusCode, 404, path)
  }
  const page = await request(`${api.url}/dashboard/`)
  t.match(await page.body.text(), 'the dashboard is off')
})
