/** Starts nginx with the configuration of `examples/deployment`. */

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { until } from './until.ts'
import type { Test } from 'tap'

const example = join(import.meta.dirname, '../../../examples/deployment/nginx.conf')

/** The reason why tests with nginx are skipped; false if they run. */
export const noNginx = spawnSync('nginx', ['-v']).status !== 0 && 'nginx is not installed'

/** Starts the load balancer of the examples in front of two ports. */
export async function startNginx (t: Test, ports: readonly number[]): Promise<{ readonly url: string }> {
  const directory = join(t.testdirName, 'nginx') // beside the files of the cluster
  mkdirSync(directory)
  const [port, file] = [await freePort(), join(directory, 'nginx.conf')]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${directory}/${name};`)
    .join('\n')
  const server = readFileSync(example, 'utf8')
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace(
      /server node-(\d):8080 (.*);/g,
      (_, node, rest) => `server 127.0.0.1:${ports[Number(node) - 1]} ${rest};`
    )
  writeFileSync(
    file,
    `daemon off; pid ${directory}/pid; events {} http { access_log off; ${temporary}\n${server} }`
  )
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', join(directory, 'errors')])
  t.teardown(() => child.kill('SIGTERM'))
  const url = `http://127.0.0.1:${port}`
  await until(
    async () =>
      await fetch(`${url}/livez`).then(
        ({ ok }) => ok,
        () => false
      ),
    'nginx to serve',
    10_000
  )
  return { url }
}
