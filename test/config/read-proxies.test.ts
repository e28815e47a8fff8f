import t from 'tap'
import { inspect } from 'node:util'
import { lines, load, provider } from '../support/config.ts'
import type { ProxySettings } from '../../lib/core/settings.ts'

const two = 'providers:\n  a: {base_url: "https://a.example/v1"}\n  b: {base_url: "http://b.example/v1"}\n'
const seen = (proxy: ProxySettings | undefined) => proxy && [proxy.url, proxy.credentials?.reveal()]

t.test('proxy variables apply to all providers except those that are reached directly', async t => {
  const settings = load(t, two, {
    HTTPS_PROXY: 'http://me:p%40ss@secure.proxy:1',
    http_proxy: 'plain.proxy:2'
  })
  t.same(seen(provider(settings, 'a').proxy), ['http://secure.proxy:1', 'me:p@ss'])
  t.same(seen(provider(settings, 'b').proxy), ['http://plain.proxy:2', undefined])
  const exceptions = load(t, two, {
    HTTPS_PROXY: 'http://secure.proxy:1',
    HTTP_PROXY: 'http://plain.proxy:2',
    NO_PROXY: 'b.example'
  })
  t.same(seen(provider(exceptions, 'a').proxy), ['http://secure.proxy:1', undefined])
  t.equal(provider(exceptions, 'b').proxy, undefined)
  t.equal(
    provider(
      load(t, 'providers: {a: {base_url: "http://127.0.0.1:8000"}}', { HTTP_PROXY: 'http://plain.proxy:2' }),
      'a'
    ).proxy,
    undefined
  )
  t.same(
    seen(
      provider(
        load(t, 'providers: {openai: {api_key: env:K}}', { K: 'x', HTTPS_PROXY: 'https://secure.proxy' }),
        'openai'
      ).proxy
    ),
    ['https://secure.proxy', undefined],
    'also for the public address of a kind'
  )
})

t.test('a provider may have its own proxy, or none', async t => {
  const yaml =
    'providers:\n  a: {base_url: "https://a.example", proxy: "http://own.proxy:3", proxy_credentials: env:C}\n  b: {base_url: "https://b.example", proxy: none}\n'
  const settings = load(t, yaml, { C: 'me:secret', HTTPS_PROXY: 'http://secure.proxy:1' })
  t.same(seen(provider(settings, 'a').proxy), ['http://own.proxy:3', 'me:secret'])
  t.equal(provider(settings, 'b').proxy, undefined)
})

t.test('proxy credentials are never shown', async t => {
  const settings = load(t, two, {
    HTTPS_PROXY: 'http://me:canary@secure.proxy:1',
    HTTP_PROXY: 'http://canary@plain.proxy'
  })
  t.notMatch(JSON.stringify(settings) + inspect(settings, { depth: Infinity }), /canary/)
  for (const address of ['socks5://me:canary@proxy:1', 'http://me:canary@', 'http://me:can%ary@proxy']) {
    const found = lines(t, two, { HTTPS_PROXY: address })
    t.same(found, [
      'environment  HTTPS_PROXY  must be the address of an HTTP proxy, such as http://proxy.example.com:3128'
    ])
  }
  const [line = ''] = lines(
    t,
    'providers: {a: {base_url: "https://a.example", proxy: "http://me:canary@proxy"}}'
  )
  t.match(line, 'must be an http:// or https:// address without user and path, or `none`')
  t.notMatch(line, /canary/)
})
