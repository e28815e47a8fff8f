/**
 * The minimal gateway in Node.js: a `node:http` reverse proxy that passes headers and bytes on with
 * back-pressure, over kept-alive connections. The reference for all others.
 *
 * Run as `node pipe.js <port> <upstream port> [<upstream port for TLS>]`; requests with `x-upstream: tls` go
 * to the latter.
 */

import { Agent, createServer, request as send } from 'node:http'
import { Agent as TlsAgent, request as sendOverTls } from 'node:https'

const [port, upstreamPort, tlsPort] = process.argv.slice(2).map(Number)
const options = { keepAlive: true, maxSockets: Infinity, maxFreeSockets: 4096 }
const plain = { send, agent: new Agent(options), port: upstreamPort }
const overTls = { send: sendOverTls, agent: new TlsAgent(options), port: tlsPort }

createServer((request, response) => {
  const { send, agent, port } = request.headers['x-upstream'] === 'tls' ? overTls : plain
  const upstream = send({
    agent,
    host: '127.0.0.1',
    port,
    method: request.method,
    path: request.url,
    headers: request.headers
  }, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  upstream.on('error', () => response.destroy())
  response.on('close', () => { if (!response.writableFinished) upstream.destroy() })
  request.pipe(upstream)
}).listen(port, '127.0.0.1', 4096)
