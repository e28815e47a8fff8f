import t from 'tap'
import { costOfMetrics, costOfProcess } from '../../lib/load/process-cost.ts'
import { httpServer } from '../support/http-server.ts'

t.test('metrics are summed over all processes of a page', async t => {
  let page = ''
  const { url } = await httpServer(t, (_request, response) => response.end(page))
  const read = costOfMetrics(new URL(url))
  page =
    '# HELP process_cpu_seconds_total CPU\nprocess_cpu_seconds_total 1.5\nprocess_resident_memory_bytes 1e+06\n'
  t.same(await read(), { cpuUs: 1.5e6, rssBytes: 1e6 })
  page =
    'process_cpu_seconds_total{worker="1 a"} 1\nprocess_cpu_seconds_total{worker="2"} 2 1700000000000\n' +
    'process_cpu_seconds_total_other 9\nprocess_resident_memory_bytes{worker="1"} 5\n'
  t.same(await read(), { cpuUs: 3e6, rssBytes: 5 })
  page = 'process_cpu_seconds_total 1\n'
  await t.rejects(
    read(),
    /\(status 200\) does not have process_cpu_seconds_total and process_resident_memory_bytes/
  )
})

t.test(
  'the cost of a process includes its children',
  { skip: process.platform === 'linux' ? false : 'only Linux has /proc' },
  async t => {
    const { cpuUs, rssBytes } = await costOfProcess(process.pid)()
    t.ok(cpuUs > 1_000 && rssBytes > 1e7, `${cpuUs} µs, ${rssBytes} bytes`)
    t.throws(() => costOfProcess(2 ** 31 - 2), /no process has the id 2147483646/)
  }
)
