import t from 'tap'
import { checkPassword, hashPassword, verifyPassword } from '../../lib/accounts/passwords.ts'

t.test('a hash matches only its password, in any Unicode normalization', async t => {
  const hash = await hashPassword('crème brûlée 42', 'test')
  t.match(hash, /^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/)
  t.notOk(hash.includes('brûl'))
  t.ok(await verifyPassword('crème brûlée 42'.normalize('NFD'), hash, 'test'))
  t.notOk(await verifyPassword('crème brûlée 43', hash, 'test'))
  t.not(await hashPassword('crème brûlée 42', 'test'), hash, 'each hash has its own salt')
})

t.test('without a stored hash every password is rejected, even that of the placeholder', async t => {
  for (const password of ['', 'A', 'anything']) t.notOk(await verifyPassword(password, undefined, 'test'))
})

t.test('verification takes the same time with and without a stored hash', async t => {
  const hash = await hashPassword('tangerine-otter-quartz', 'test')
  const time = async (stored: string | undefined): Promise<number> => {
    const start = performance.now()
    await verifyPassword('wrong', stored, 'test')
    return performance.now() - start
  }
  const [known, unknown] = [[] as number[], [] as number[]]
  for (let round = 0; round < 3; round++) {
    known.push(await time(hash))
    unknown.push(await time(undefined))
  }
  t.ok(
    Math.min(...unknown) > Math.min(...known) / 3 && Math.min(...known) > Math.min(...unknown) / 3,
    `${Math.min(...known)} ms, ${Math.min(...unknown)} ms`
  )
})

t.test('too many concurrent verifications are refused instead of queued', async t => {
  const results = await Promise.allSettled(
    Array.from({ length: 30 }, async () => await verifyPassword('x', undefined, 'test'))
  )
  t.equal(results.filter(({ status }) => status === 'rejected').length, 8, 'two run and twenty wait')
})

t.test('one source of many verifications does not block others', async t => {
  const many = Promise.allSettled(
    Array.from({ length: 30 }, async () => await verifyPassword('x', undefined, 'one'))
  )
  t.equal(await verifyPassword('x', undefined, 'other'), false)
  t.equal((await many).filter(({ status }) => status === 'rejected').length, 9)
})

t.test('the error for a common password names the parameter', async t => {
  t.throws(() => checkPassword('password1234', []), { code: 'invalid_value', param: 'new_password' })
  t.doesNotThrow(() => checkPassword('tangerine-otter-quartz', ['Ada']))
})
