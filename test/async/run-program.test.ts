import t from 'tap'
import { runProgram } from '../../lib/async/run-program.ts'
import { withoutDescriptors } from '../support/without-descriptors.ts'

const { signal } = new AbortController()
const node = async (
  program: string,
  options: Partial<Parameters<typeof runProgram>[2]> = {}
): Promise<string> =>
  String(await runProgram(process.execPath, ['-e', program], { signal, maxBytes: 1000, ...options }))

t.test('input is written to stdin and stdout is returned', async t => {
  t.equal(await node('process.stdin.pipe(process.stdout)', { input: Buffer.from('ä\0b') }), 'ä\0b')
  t.equal(
    await node('process.stdout.write("x")', { input: Buffer.alloc(1_000_000) }),
    'x',
    'input that is not read is ignored'
  )
})

t.test('the program does not see our environment', async t => {
  process.env['HEADGATE_TEST_SECRET'] = 'secret'
  t.teardown(() => {
    delete process.env['HEADGATE_TEST_SECRET']
  })
  t.notMatch(
    await node('process.stdout.write(JSON.stringify(process.env))', { maxBytes: 1_000_000 }),
    'SECRET'
  )
})

t.test('a failing or missing program is reported with its stderr', async t => {
  await t.rejects(node('console.error("no such page"); process.exit(3)'), {
    message: /ended with 3: no such page/
  })
  await t.rejects(runProgram('/nowhere/program', [], { signal, maxBytes: 1 }), {
    message: /ended with 127: .*\/nowhere\/program/s
  })
})

t.test('memory and processor time are limited', async t => {
  const allocate = async (size: string, memoryKilobytes?: number): Promise<Buffer> =>
    await runProgram('/bin/dd', ['if=/dev/null', 'of=/dev/null', `bs=${size}`], {
      signal,
      maxBytes: 1000,
      ...memoryKilobytes !== undefined && { memoryKilobytes }
    })
  await allocate('1G')
  await t.rejects(allocate('3G'), { message: /ended with 1: .*memory/s })
  await t.rejects(allocate('1G', 1024 * 1024), { message: /ended with 1: .*memory/s })
  const limits = await runProgram('/bin/sh', ['-c', 'ulimit -t; ulimit -d'], { signal, maxBytes: 100 })
  t.equal(String(limits), '60\n2097152\n')
})

t.test('a program that prints too much is killed', async t => {
  t.equal((await node('process.stdout.write("x".repeat(1000))')).length, 1000)
  await t.rejects(node('for (;;) process.stdout.write("x".repeat(1000))'), { message: /ended with null/ })
})

t.test('an aborted signal kills the program, or prevents its start', async t => {
  const leaving = new AbortController()
  const running = node('setInterval(() => {}, 1000); process.stdout.write("on")', { signal: leaving.signal })
  leaving.abort(new Error('left'))
  await t.rejects(running, { message: 'left' })
  await t.rejects(runProgram('/nowhere/program', [], { signal: leaving.signal, maxBytes: 1 }), {
    message: 'left'
  })
})

t.test('running out of file descriptors is reported as EMFILE', async t => {
  t.equal(await withoutDescriptors(`
    const { runProgram } = await import(${JSON.stringify(import.meta.resolve('../../lib/async/run-program.js'))})
    const { signal } = new AbortController()
  `, "runProgram('/bin/true', [], { signal, maxBytes: 1 })"), 'EMFILE')
})
