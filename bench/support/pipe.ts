/**
 * The least a gateway in Node can do: a reverse proxy of `node:http` that passes heads and bytes
 * on with back-pressure, over kept-alive connections. The measure of all others.
 *
 * Run as `node pipe.js <port> <upstream port>`.
 */

import { Agent, createServer, request as send } from 'node:http'

const [port, upstreamPort] = process.argv.slice(2).map(Number)
const agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 4096 })

createServer((request, response) => {
  const upstream = send({
    agent,
    host: '127.0.0.1',
    port: upstreamPort,
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
