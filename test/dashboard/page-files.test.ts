import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { PageFiles } from '../../lib/dashboard/page-files.ts'

const files = t.testdir({
  'index.html': '<!doctype html><title>Page</title>',
  assets: { 'main-1A2B3C4D.js': 'export {}', 'icon-1A2B3C4D.svg': '<svg/>' },
  'secret.txt': 'not for browsers'
})

t.test(
  'any path that is not an asset gives the page, which is revalidated and allows no foreign content',
  async t => {
    const page = new PageFiles(files)
    for (const path of ['', 'keys', 'calls/one', 'secret.txt', '../secret.txt']) {
      const reply = await page.find(path)
      t.match(
        reply,
        {
          status: 200,
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'cache-control': 'no-cache',
            'x-content-type-options': 'nosniff'
          }
        },
        path
      )
      t.match(String(Buffer.from(reply?.body as Uint8Array)), /^<!doctype html>/)
      const policy = reply?.headers['content-security-policy'] ?? ''
      t.match(policy, /default-src 'none'/)
      t.notMatch(policy, /unsafe|https?:|\*/)
    }
  }
)

t.test('assets are cached for good, and compressed for clients that support it', async t => {
  const page = new PageFiles(files)
  const plain = await page.find('assets/main-1A2B3C4D.js')
  t.match(plain?.headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': /immutable/,
    vary: 'accept-encoding'
  })
  t.equal(String(Buffer.from(plain?.body as Uint8Array)), 'export {}')
  const compressed = await page.find('assets/main-1A2B3C4D.js', 'br, gzip')
  t.equal(compressed?.headers['content-encoding'], 'gzip')
  t.equal(String(gunzipSync(compressed?.body as Uint8Array)), 'export {}')
})

t.test('only assets of the build are served', async t => {
  const page = new PageFiles(files)
  for (const path of [
    'assets/',
    'assets/main.js',
    'assets/../secret.txt',
    'assets/..%2fsecret.txt',
    'assets/main-1A2B3C4D.js/'
  ]) {
    t.equal(await page.find(path), undefined, path)
  }
  t.equal(await new PageFiles(t.testdir({})).find(''), undefined, 'without a build there is no page')
})
