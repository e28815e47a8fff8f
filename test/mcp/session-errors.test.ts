import t from 'tap'
import { sessionBroken, sessionExpired } from '../../lib/mcp/session-errors.ts'

/** An error as the client library reports an answer of JSON-RPC. */
function answered (code: number, message: string): Error {
  return Object.assign(new Error(message), { name: 'ProtocolError', code })
}

const gone = answered(-32001, 'MCP error -32001: Session not found')
const ofTool = answered(-32000, 'Browser session closed')
const notFound = Object.assign(new Error('Not found'), { status: 404 })
const badRequest = Object.assign(new Error('No valid session ID provided'), { status: 400 })
const reset = new Error('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })

t.test('a session that the server does not know is not mistaken for an error of a tool', async t => {
  t.equal(sessionExpired(gone), true)
  t.equal(sessionExpired(notFound), true)
  t.equal(sessionExpired(badRequest), true)
  t.equal(sessionExpired(ofTool), false)
  t.equal(sessionExpired(reset), false)
  t.equal(sessionExpired(new Error('a tool was not found')), false)
})

t.test('a session is broken by failures of HTTP and the network, not by answers', async t => {
  t.equal(sessionBroken(gone), true)
  t.equal(sessionBroken(notFound), true)
  t.equal(sessionBroken(reset), true)
  t.equal(sessionBroken(ofTool), false)
  t.equal(sessionBroken(new Error('too late')), false)
})
