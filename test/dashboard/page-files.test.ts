import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { PageFiles } from '../../lib/dashboard/page-files.ts'
import { testGateway } from '../support/gateway.ts'

const files = t.testdir({
  'index.html': '<!doctype html><title>Page</title>',
  assets: { 'main-1A2B3C4D.js': 'export {}', 'icon-1A2B3C4D.svg': '<svg/>' },
  'secret.txt': 'not for browsers'
})

t.test('every path that is no asset is the page, which a browser asks for anew and which runs nothing of others', async t => {
  const page = new PageFiles(files)
  for (const path of ['', 'keys', 'calls/one', 'secret.txt', '../secret.txt']) {
    const reply = await page.find(path)
    t.match(reply, { status: 200, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' } }, path)
    t.match(String(Buffer.from(reply?.body as Uint8Array)), /^<!doctype html>/)
    const policy = reply?.headers['content-security-policy'] ?? ''
    t.match(policy, /default-src 'none'/)
    t.notMatch(policy, /unsafe|https?:|\*/)
  }
})

t.test('assets are kept by browsers for ever, and compressed for those that can read that', async t => {
  const page = new PageFiles(files)
  const plain = await page.find('assets/main-1A2B3C4D.js')
  t.match(plain?.headers, { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': /immutable/, vary: 'accept-encoding' })
  t.equal(String(Buffer.from(plain?.body as Uint8Array)), 'export {}')
  const compressed = await page.find('assets/main-1A2B3C4D.js', 'br, gzip')
  t.equal(compressed?.headers['content-encoding'], 'gzip')
  t.equal(String(gunzipSync(compressed?.body as Uint8Array)), 'export {}')
})

t.test('nothing but the assets of the build is found', async t => {
  const page = new PageFiles(files)
  for (const path of ['assets/', 'assets/main.js', 'assets/../secret.txt', 'assets/..%2fsecret.txt', 'assets/main-1A2B3C4D.js/']) {
    t.equal(await page.find(path), undefined, path)
  }
  t.equal(await new PageFiles(t.testdir({})).find(''), undefined, 'without a build there is no page')
})

t.test('the gateway redirects browsers to the page, and serves it without a key', async t => {
  const { url } = await testGateway(t, {})
  const root = await fetch(url, { redirect: 'manual' })
  t.equal(root.status, 302)
  t.equal(root.headers.get('location'), '/dashboard/')
  for (const path of ['/dashboard', '/dashboard/', '/dashboard/keys?new']) {
    const page = await fetch(url + path)
    t.equal(page.status, 200, path)
    t.match(await page.text(), /<script type="module" src="\/dashboard\/assets\/main-\w+\.js">/)
  }
  const [, script = ''] = /src="([^"]+main-[^"]+)"/.exec(await (await fetch(`${url}/dashboard/`)).text()) ?? []
  const asset = await fetch(url + script)
  t.equal(asset.headers.get('content-encoding'), 'gzip')
  t.match(await asset.text(), /headgate/i)
  t.match(await (await fetch(`${url}/dashboard/assets/none.js`)).json(), { error: { code: 'not_found' } })
})
