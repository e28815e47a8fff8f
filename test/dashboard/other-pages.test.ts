/** Pages of other origins, opened in the browser of a signed-in user, and what they can do there. */

import t, { type Test } from 'tap'
import type { Page } from 'playwright-core'
import { adminGateway, type AdminGateway } from '../support/admin.ts'
import { launch, noBrowser } from '../support/browser.ts'
import { httpServer } from '../support/http-server.ts'
import { settings } from '../support/settings.ts'

/**
 * What a page tries: scripts with the address of the gateway in `at`, whose value is what they could read.
 */
const attempts: Readonly<Record<string, string>> = {
  'reads with the cookie': `
    fetch(at + '/admin/v1/session', { credentials: 'include' }).then(answer => answer.text())`,
  'reads without asking': `
    fetch(at + '/admin/v1/keys', { credentials: 'include', mode: 'no-cors' }).then(answer => answer.text())`,
  'sends JSON as text': `
    fetch(at + '/admin/v1/projects', {
      method: 'POST', credentials: 'include', mode: 'no-cors',
      headers: { 'content-type': 'text/plain' }, body: '{"name":"hostile"}'
    }).then(answer => answer.text())`,
  'asks leave to send JSON with a token': `
    fetch(at + '/admin/v1/projects', {
      method: 'POST', credentials: 'include',
      headers: { 'content-type': 'application/json', 'x-headgate-csrf': 'x'.repeat(43) },
      body: '{"name":"hostile"}'
    }).then(answer => answer.text())`,
  'sends a beacon': `
    Promise.resolve(navigator.sendBeacon(at + '/admin/v1/projects', new Blob(['{"name":"hostile"}'])) ? '' : 'no')`,
  'ends the session': `
    fetch(at + '/admin/v1/session', { method: 'DELETE', credentials: 'include' }).then(answer => answer.text())`,
  'loads the API as a script': `
    new Promise(resolve => {
      const script = document.createElement('script')
      script.src = at + '/admin/v1/session'
      script.onload = () => resolve('loaded')
      script.onerror = () => resolve('')
      document.head.append(script)
    })`,
  'listens to calls': `
    new Promise(resolve => {
      const source = new EventSource(at + '/admin/v1/live-calls', { withCredentials: true })
      source.onopen = () => resolve('open')
      source.onmessage = ({ data }) => resolve(data)
      source.onerror = () => { source.close(); resolve('') }
    })`,
  'opens a socket': `
    new Promise(resolve => {
      const socket = new WebSocket(at.replace('http', 'ws') + '/admin/v1/live-calls')
      socket.onopen = () => resolve('open')
      socket.onmessage = ({ data }) => resolve(data)
      socket.onerror = () => resolve('')
    })`,
  'shows the dashboard in a frame': `
    new Promise((resolve, reject) => {
      const frame = document.createElement('iframe')
      frame.src = at + '/dashboard/'
      frame.onload = () => {
        try { resolve(frame.contentWindow.document.body.textContent) } catch (error) { reject(error) }
      }
      document.body.append(frame)
    })`,
  'reaches into a window with the dashboard': `
    new Promise((resolve, reject) => {
      const opened = open(at + '/dashboard/')
      const look = () => {
        try {
          if (!opened.closed && opened.location.href === 'about:blank') setTimeout(look, 20)
          else resolve(opened.closed ? '' : opened.document.body.textContent)
        } catch (error) { reject(error) }
      }
      look()
    })`,
  'uses the API of models with the cookie': `
    fetch(at + '/v1/models', { credentials: 'include' }).then(answer => answer.text())`
}

t.test('in a browser', { skip: noBrowser }, async t => {
  const gateway = await adminGateway(t, { server: { ...settings().server, acceptedHosts: [] } })
  const page = await signedIn(t, gateway)
  const other = await httpServer(t, (_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Other</title><body></body>')
  })
  const origins = { 'another site': other.url.replace('127.0.0.1', 'localhost'), 'another port': other.url }
  const before = await changes(gateway)
  for (const [name, origin] of Object.entries(origins)) {
    t.test(`a page of ${name} can read and change nothing`, async t => {
      const hostile = await page.context().newPage()
      for (const [title, attempt] of Object.entries(attempts)) {
        await hostile.goto(origin)
        t.equal(await tried(hostile, attempt, gateway.api.url), '', title)
        t.notOk(hostile.frames().some(frame => frame.url().startsWith(gateway.api.url)), `${title}: no frame`)
      }
      await postForm(hostile, origin, gateway.api.url)
      t.same(await changes(gateway), before, 'nothing is changed')
      await page.reload()
      const content = page.locator('main#content')
      await content.waitFor()
      t.ok(await content.isVisible(), 'the user is signed in as before')
      await hostile.close()
    })
  }

  t.test('another host name that resolves to this server is refused', async t => {
    const { port } = new URL(gateway.api.url)
    const hostile = await page.context().newPage()
    await hostile.goto(`http://rebound.example:${port}/dashboard/`)
    t.match(await hostile.textContent('body'), 'does not serve this host name')
    t.equal(
      await hostile.evaluate(`fetch('/admin/v1/session').then(answer => answer.status)`),
      421,
      'nor its API'
    )
  })
})

/** Returns what an attempt could read: nothing if the browser or the gateway refused it. */
async function tried (page: Page, attempt: string, gateway: string): Promise<unknown> {
  return await page.evaluate(`(at => ${attempt.trim()})(${JSON.stringify(gateway)}).then(text => text, () => '')`)
}

/** Sends a form, as a page can to any address, with a body that resembles JSON as closely as a form can. */
async function postForm (page: Page, origin: string, gateway: string): Promise<void> {
  await page.goto(origin)
  const answered = page.waitForResponse(response => response.url().endsWith('/admin/v1/projects'))
  await page.evaluate(`
    const form = document.createElement('form')
    form.method = 'POST'
    form.action = ${JSON.stringify(`${gateway}/admin/v1/projects`)}
    form.enctype = 'text/plain'
    const field = document.createElement('input')
    field.name = '{"name":"hostile","x":"'
    field.value = '"}'
    form.append(field)
    document.body.append(form)
    form.submit()`)
  await answered
}

/** Everything that a page could have changed. */
async function changes ({ database: { query } }: AdminGateway): Promise<unknown> {
  const [projects, keys, users, sessions] = await Promise.all([
    query.selectFrom('projects').select('name').orderBy('name').execute(),
    query.selectFrom('keys').select('id').orderBy('id').execute(),
    query.selectFrom('users').select(['id', 'role']).orderBy('id').execute(),
    query.selectFrom('sessions').select('user_id').orderBy('user_id').execute()
  ])
  return { projects, keys, users, sessions }
}

async function signedIn (t: Test, { api, admin }: AdminGateway): Promise<Page> {
  const browser = await launch(t, ['--host-resolver-rules=MAP rebound.example 127.0.0.1'])
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(10_000)
  const { token } = await admin.accounts.createOwnerLink()
  await page.goto(`${api.url}/dashboard/#/link/${token}`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('main#content').waitFor()
  return page
}
