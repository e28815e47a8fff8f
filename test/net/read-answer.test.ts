import t from 'tap'
import { readAnswer } from '../../lib/net/read-answer.ts'
import { httpServer } from '../support/http-server.ts'

t.test('an answer is read to its end', async t => {
  const { url } = await httpServer(t, (request, response) => {
    response.writeHead(request.url === '/none' ? 204 : 404).end(request.url === '/none' ? undefined : 'näh')
  })
  t.same(await readAnswer(await fetch(`${url}/text`)), { status: 404, ok: false, text: 'näh' })
  t.same(await readAnswer(await fetch(`${url}/none`)), { status: 204, ok: true, text: '' })
})

t.test('an endless answer is abandoned', async t => {
  const piece = Buffer.alloc(1024 * 1024)
  const { url } = await httpServer(t, (_request, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(piece)) { /** until it is full */ }
    }
    response.on('drain', write)
    write()
  })
  await t.rejects(fetch(url).then(readAnswer), { message: 'the answer is larger than 64 MB' })
})
