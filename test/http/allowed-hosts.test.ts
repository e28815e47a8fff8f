import { request } from 'undici'
import t from 'tap'
import { allowedHosts } from '../../lib/http/allowed-hosts.ts'
import { testGateway, testKey } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'

t.test('on a loopback address only loopback names and configured host names are allowed', async t => {
  for (const host of ['127.0.0.1', '::1', 'localhost', '127.0.0.2']) {
    const allows = allowedHosts({ host, acceptedHosts: ['ai.example.com'] })
    for (const header of [
      'localhost',
      'LOCALHOST:8080',
      '127.0.0.1',
      '127.0.0.1:8080',
      '[::1]',
      '[::1]:8080',
      'AI.example.com',
      'ai.example.com:443'
    ]) {
      t.ok(allows(header), `${header} at ${host}`)
    }
    for (const header of [
      'evil.test',
      'evil.test:8080',
      '127.0.0.1.evil.test',
      'localhost.evil.test',
      '',
      'x.ai.example.com',
      '10.0.0.1',
      '[::2]'
    ]) {
      t.notOk(allows(header), `${header} at ${host}`)
    }
  }
})

t.test('on another address any host name is allowed unless some are configured', async t => {
  t.ok(allowedHosts({ host: '0.0.0.0', acceptedHosts: [] })('evil.test'))
  t.notOk(allowedHosts({ host: '0.0.0.0', acceptedHosts: ['ai.example.com'] })('evil.test'))
  t.ok(allowedHosts({ host: '127.0.0.1', acceptedHosts: ['*'] })('evil.test'))
})

t.test('a request with a forbidden host name is refused before its key is checked', async t => {
  const api = await testGateway(t, { server: { ...settings().server, acceptedHosts: [] } })
  const ask = async (host: string): Promise<number> => {
    const { statusCode, body } = await request(`${api.url}/v1/models`, {
      headers: { host, authorization: `Bearer ${testKey}` }
    })
    await body.dump()
    return statusCode
  }
  t.equal(await ask('evil.test'), 421)
  t.equal(await ask('localhost'), 200)
})
