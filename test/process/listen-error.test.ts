import t from 'tap'
import { listenError } from '../../lib/process/listen-error.ts'

t.test('the error names the address, the reason and what to do', async t => {
  const rows = [
    [{ code: 'EADDRINUSE' }, 'the port is in use'],
    [{ code: 'EACCES' }, 'permission denied'],
    [{ code: 'EADDRNOTAVAIL' }, 'the address is not available on this machine'],
    [{ code: 'ENOTFOUND' }, 'unknown host'],
    [{ code: 'EOTHER' }, 'listen failed']
  ] as const
  for (const [properties, reason] of rows) {
    const cause = Object.assign(new Error('listen failed'), properties)
    const error = listenError(cause, { host: '127.0.0.1', port: 80 }, 'Choose another.')
    t.strictSame(
      [error.message, error.exitCode, error.cause],
      [`cannot listen on 127.0.0.1 port 80: ${reason}. Choose another.`, 1, cause]
    )
  }
  t.equal(
    listenError('broken', { host: 'h', port: 1 }, 'X.').message,
    'cannot listen on h port 1: broken. X.'
  )
})
