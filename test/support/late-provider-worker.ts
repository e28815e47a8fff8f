import { createServer, type AddressInfo, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { chatAnswer } from './upstream.ts'

const written = workerData as Int32Array // shared with `startLateProvider`
const sockets = new Set<Socket>()
let requests = 0

const server = createServer({ noDelay: true }, socket => {
  sockets.add(socket)
  socket.on('data', () => socket.write(responseWith(`answer ${++requests}`)))
  socket.on('error', () => socket.destroy())
  socket.on('close', () => sockets.delete(socket))
}).listen(0, '127.0.0.1', () => {
  parentPort?.postMessage((server.address() as AddressInfo).port) // a port, not a path
})

parentPort?.on('message', () => {
  void Promise.all(
    [...sockets].map(
      socket =>
        new Promise(resolve => {
          socket.write(responseWith('stray'), resolve)
        })
    )
  ).then(() => {
    Atomics.store(written, 0, 1)
    Atomics.notify(written, 0)
  })
})

function responseWith (text: string): string {
  const body = chatAnswer(text)
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
