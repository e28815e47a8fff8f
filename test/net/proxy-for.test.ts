import t from 'tap'
import { isNeverProxied, proxyFor } from '../../lib/net/proxy-for.ts'

const proxies = { https: 'http://secure.proxy:1', http: 'http://plain.proxy:2', exceptions: undefined }

t.test('each scheme has its proxy, or none if none is set', async t => {
  t.equal(proxyFor(new URL('https://api.example.com/v1'), proxies), proxies.https)
  t.equal(proxyFor(new URL('http://api.example.com/v1'), proxies), proxies.http)
  t.equal(proxyFor(new URL('https://api.example.com/v1'), { ...proxies, https: undefined }), undefined)
})

t.test('exceptions are hosts with their subdomains, ports, addresses and ranges', async t => {
  const isDirect = (exceptions: string, url: string): boolean =>
    proxyFor(new URL(url), { ...proxies, exceptions }) === undefined
  for (const [exceptions, url] of [
    ['*', 'https://a.example'],
    ['a.example', 'https://a.example'],
    ['a.example', 'https://deep.A.example'],
    ['.a.example', 'https://a.example'],
    ['*.a.example', 'https://b.a.example'],
    ['b.example, a.example', 'https://a.example'],
    ['b.example a.example:443', 'https://a.example'],
    ['a.example:8443', 'https://a.example:8443'],
    ['10.1.2.3', 'http://10.1.2.3:8000'],
    ['10.0.0.0/8', 'http://10.1.2.3:8000'],
    ['2001:db8::1', 'http://[2001:db8::1]:8000'],
    ['[2001:db8::1]:8000', 'http://[2001:db8::1]:8000'],
    ['2001:db8::/32', 'http://[2001:db8::1]']
  ] as const) t.ok(isDirect(exceptions, url), `${exceptions}: ${url}`)
  for (const [exceptions, url] of [
    ['', 'https://a.example'],
    ['a.example', 'https://xa.example'],
    ['a.example:8443', 'https://a.example'],
    ['10.0.0.0/8', 'http://11.1.2.3'],
    ['10.0.0.0/8', 'http://ten.example'],
    ['10.0.0.0/8', 'http://[2001:db8::1]'],
    ['.', 'https://a.example']
  ] as const) t.notOk(isDirect(exceptions, url), `${exceptions}: ${url}`)
})

t.test('this machine, link-local addresses and metadata services are never proxied', async t => {
  for (const host of [
    'localhost',
    '127.0.0.1',
    '127.9.9.9',
    '[::1]',
    '169.254.169.254',
    '[fe80::1]',
    '[::ffff:169.254.1.1]',
    'metadata.google.internal',
    '100.100.100.200',
    '[fd00:ec2::254]'
  ]) {
    t.ok(isNeverProxied(new URL(`http://${host}/v1`)), host)
    t.equal(proxyFor(new URL(`http://${host}/v1`), proxies), undefined)
  }
  for (const host of ['10.0.0.1', 'api.example.com', 'metadata.example.com']) {
    t.notOk(isNeverProxied(new URL(`http://${host}`)), host)
  }
})
