/**
 * How the gateway, as a process, reaches providers: through proxies from the environment, and over HTTP/2.
 */

import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { makeAuthority, type Pair } from '../support/certificate-authority.ts'
import { noOpenSsl } from '../support/certificate.ts'
import { freePort, untilListening } from '../support/free-port.ts'
import { directoryOf, startGateway } from '../support/headgate.ts'
import { noNginx } from '../support/nginx.ts'
import { noTinyproxy, startTinyproxy } from '../support/tinyproxy.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'

const key = 'a-key-of-these-tests'

/** Answers a chat call as requested: streamed or complete. */
function answer (body: string): { headers?: Record<string, string>, pieces: string[] } {
  return JSON.parse(body).stream === true
    ? { headers: eventStream, pieces: chatFrames(['one ', 'two ', 'three']) }
    : { pieces: [chatAnswer('one two three')] }
}

/** Calls a model, and returns the text of its answer. */
async function chat (url: string, model: string, stream: boolean): Promise<string> {
  const { statusCode, body } = await request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'count' }] })
  })
  const answer = await body.text()
  if (statusCode !== 200) return `${statusCode} ${answer}`
  if (!stream) return JSON.parse(answer).choices[0].message.content
  return [...answer.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join('')
}

/** Starts a TLS provider on an address, and returns its port. */
async function secureProvider (t: Test, host: string, pair: Pair): Promise<number> {
  const server = createServer(pair, (request, response) => {
    void textOf(request).then(body => {
      const { headers = {}, pieces } = answer(body)
      response.writeHead(200, headers).end(pieces.join(''))
    })
  }).listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    server.close().closeAllConnections()
  })
  return (server.address() as AddressInfo).port // a port, not a path
}

/** An external address of this machine: loopback is never reached through a proxy. */
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find(one => one?.internal === false && one.family === 'IPv4')?.address

const noOwnAddress = ownAddress === undefined && 'this machine has no address beyond loopback'

t.test(
  'providers are reached through HTTPS_PROXY, except for those in NO_PROXY',
  { skip: noTinyproxy || noOpenSsl || noOwnAddress },
  async t => {
    const host = ownAddress ?? ''
    const { ca, server } = makeAuthority(t.testdir({}), [host])
    const proxied = await secureProvider(t, host, server)
    const direct = await secureProvider(t, host, server)
    const proxy = await startTinyproxy(t)
    const provider = (port: number): string =>
      `{kind: openai-compatible, base_url: "https://${host}:${port}/v1", list_models: false, ` +
      'tls: {ca: "file:ca.pem"}}'
    const directory = directoryOf(t, {
      'ca.pem': ca,
      'headgate.yaml': `providers:\n  proxied: ${provider(proxied)}\n  direct: ${provider(direct)}\n`
    })
    const gateway = await startGateway(t, directory, {
      HEADGATE_API_KEYS: key,
      HTTPS_PROXY: `http://me:secret@${proxy.host}`,
      NO_PROXY: `10.0.0.0/8, ${host}:${direct}`
    })
    for (const stream of [false, true]) {
      for (const id of ['proxied', 'direct']) {
        t.equal(await chat(gateway.url, `${id}/m-1`, stream), 'one two three', `${id}, stream: ${stream}`)
      }
    }
    t.same([...new Set(proxy.targets())], [`${host}:${proxied}`])
    gateway.child.kill('SIGTERM')
    const { out, error } = await gateway.ended
    t.notMatch(out + error, 'secret', 'the proxy credentials are not logged')
  }
)

t.test(
  'a provider behind nginx is reached over HTTP/2, with a private authority and a client certificate',
  { skip: noNginx || noOpenSsl },
  async t => {
    const { ca, server, client } = makeAuthority(t.testdir({}))
    const upstream = await fakeUpstream(({ text }) => answer(text))
    t.teardown(upstream.close)
    const directory = directoryOf(t, {
      'ca.pem': ca,
      'server.pem': server.cert,
      'server.key': server.key,
      'client.pem': client.cert,
      'client.key': client.key,
      log: ''
    })
    const port = await freePort()
    const file = (name: string): string => join(directory, name)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map(name => `${name}_temp_path ${file(name)};`)
      .join('\n')
    writeFileSync(
      file('nginx.conf'),
      `daemon off; pid ${file('pid')}; events {} http {
        ${temporary}
        log_format tried '$server_protocol $ssl_client_s_dn $status';
        access_log ${file('log')} tried;
        server {
          listen 127.0.0.1:${port} ssl http2;
          ssl_certificate ${file('server.pem')};
          ssl_certificate_key ${file('server.key')};
          ssl_client_certificate ${file('ca.pem')};
          ssl_verify_client on;
          location / { proxy_pass ${upstream.url}; proxy_buffering off; proxy_http_version 1.1; }
        }
      }`
    )
    const nginx = spawn('nginx', ['-p', directory, '-c', file('nginx.conf'), '-e', file('errors')])
    t.teardown(() => nginx.kill('SIGTERM'))
    const base = `kind: openai-compatible, base_url: "https://127.0.0.1:${port}/v1", list_models: false`
    const provider = (http2: boolean, tls: string): string =>
      `{${base}, retries: 0, http2: ${http2}, tls: {${tls}}}`
    const own = 'ca: "file:ca.pem", cert: "file:client.pem", key: "file:client.key"'
    writeFileSync(
      file('headgate.yaml'),
      `providers:\n  shared: ${provider(true, own)}\n  single: ${provider(false, own)}\n` +
        `  stranger: ${provider(true, 'ca: "file:ca.pem"')}\n  doubtful: ${provider(true, '')}\n`
    )
    const gateway = await startGateway(t, directory, { HEADGATE_API_KEYS: key })
    const logged = (): string[] => readFileSync(file('log'), 'utf8').split('\n').slice(0, -1)
    await untilListening(port)
    const calls = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => await chat(gateway.url, 'shared/m-1', index % 2 === 1))
    )
    t.same(new Set(calls), new Set(['one two three']))
    await until(() => logged().length === 20, 'nginx to log the calls')
    t.same(new Set(logged()), new Set(['HTTP/2.0 CN=gateway 200']))
    t.equal(await chat(gateway.url, 'single/m-1', true), 'one two three')
    await until(() => logged().at(-1)?.startsWith('HTTP/1.1') === true, 'nginx to log the call')
    t.match(await chat(gateway.url, 'stranger/m-1', false), /^40\d|^50\d/, 'nginx requires a certificate')
    t.match(await chat(gateway.url, 'doubtful/m-1', false), /^50\d .*upstream_unreachable/, 'unknown issuer')
    t.equal(upstream.requests.length, 21)
  }
)
