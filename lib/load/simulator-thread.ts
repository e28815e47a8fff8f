/** The thread of `startSimulatedProvider`. */

import { createServer, type AddressInfo, type Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { completeAnswerWith, eventCount, lastFramesWith, streamPieces, texts } from './answers.ts'
import { jsonAnswer, rawConnection, shapeOf, streamWrites, writeInSlices, writePaced } from './raw-server.ts'
import {
  simulatedUsage, waitMs, type SimulatedModel, type SimulatorData, type SimulatorMessage
} from './simulated-provider.ts'

const { host, port, answered } = workerData as SimulatorData // as `startSimulatedProvider` wrote it
const counter = new Int32Array(answered)

const json = jsonAnswer(completeAnswerWith(simulatedUsage))
const eights = streamWrites(streamPieces(8, texts, simulatedUsage))
const lastFrames = lastFramesWith(simulatedUsage)
const notFound = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')

const writers: Readonly<Record<SimulatedModel, (socket: Socket) => void>> = {
  json: socket => { socket.write(json) },
  eights: socket => { writeInSlices(socket, eights) },
  'paced-5': socket => { writePaced(socket, 5, eventCount, lastFrames) },
  [`wait-${waitMs}`]: socket => {
    setTimeout(() => { if (!socket.destroyed) socket.write(json) }, waitMs)
  }
}

const server = createServer({ noDelay: true }, rawConnection(answer))
server.on('error', ({ message }) => { send({ error: message }) })
server.listen(port, host, 4096, () => {
  send({ port: (server.address() as AddressInfo).port }) // it listens on TCP
})

function answer (request: Buffer, socket: Socket): void {
  const target = request.toString('latin1', 0, request.indexOf('\r\n'))
  const shape = shapeOf(request)
  if (!target.startsWith('POST ') || !isModel(shape)) {
    socket.write(notFound)
    return
  }
  Atomics.add(counter, 0, 1)
  writers[shape](socket)
}

function isModel (shape: string): shape is SimulatedModel {
  return Object.hasOwn(writers, shape)
}

function send (message: SimulatorMessage): void {
  parentPort?.postMessage(message)
}
