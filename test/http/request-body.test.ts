import { buffer, text } from 'node:stream/consumers'
import t from 'tap'
import { requestBody } from '../../lib/http/request-body.ts'
import { openRequest } from '../support/open-request.ts'
import type { Context } from 'koa'

const post = { method: 'POST', body: '{"a":1}', headers: { 'content-encoding': 'identity' } }

t.test('an unread body is the request itself', async t => {
  const { request } = await openRequest(t, '/', post)
  t.equal(requestBody(contextOf(request)), request)
})

t.test('an already parsed body is taken from the body parser, without its content encoding', async t => {
  for (const rawBody of ['{"größe":1}', Buffer.from('{"größe":1}')]) {
    const { request } = await openRequest(t, '/', post)
    await buffer(request)
    const body = requestBody(contextOf(request, { rawBody }))
    t.match(body.headers, { 'content-length': '13', 'content-encoding': undefined })
    t.equal(await text(body), '{"größe":1}')
  }
})

t.test('a body that was read and not kept is refused', async t => {
  const { request } = await openRequest(t, '/', post)
  await buffer(request)
  t.throws(() => requestBody(contextOf(request)), { code: 'body_already_read', status: 500 })
})

/** The two members of a context that are read. */
function contextOf (req: Context['req'], request: object = {}): Pick<Context, 'req' | 'request'> {
  return { req, request: request as Context['request'] } // only `rawBody` of it is read
}
