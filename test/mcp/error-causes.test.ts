import t from 'tap'
import { causes, httpStatus, isJsonRpcError, isNetworkError } from '../../lib/mcp/error-causes.ts'

t.test('an error is followed by its causes, and an aggregate by all its errors', async t => {
  const inner = new Error('inner')
  const both = new AggregateError([new Error('one'), new Error('two', { cause: inner })], 'both')
  const found = [...causes(new Error('outer', { cause: both }))] as Error[]
  t.same(found.map(({ message }) => message), ['outer', 'both', 'one', 'two', 'inner'])
})

t.test('the data of an error that a server answered with is no cause', async t => {
  const error = Object.assign(new Error('Broken'), {
    name: 'ProtocolError', code: -32000, data: { status: 404, cause: { code: 'ECONNRESET' } }
  })
  t.equal(isJsonRpcError(error), true)
  t.equal([...causes(error)].length, 1)
  t.equal(httpStatus(error), undefined)
})

t.test('the status of HTTP is found wherever the client library puts it', async t => {
  t.equal(httpStatus(Object.assign(new Error('a'), { status: 401 })), 401)
  t.equal(httpStatus(new Error('a', { cause: Object.assign(new Error('b'), { code: 503 }) })), 503)
  t.equal(httpStatus(Object.assign(new Error('a'), { data: { status: 404 } })), 404)
  t.equal(httpStatus(new Error('Streamable transport failed (HTTP 500)')), 500)
  t.equal(httpStatus(new Error('no answer')), undefined)
})

t.test('codes of the system name failures of the network', async t => {
  t.equal(isNetworkError({ code: 'ECONNREFUSED' }), true)
  t.equal(isNetworkError({ code: 'ABORT_ERR' }), false)
})
