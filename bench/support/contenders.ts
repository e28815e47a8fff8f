/** Lists the gateways to compare: how each is started, and which headers its callers send. */

import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { tls } from './certificate.ts'
import { litellmArguments, litellmEntry, litellmEnvironment } from './litellm.ts'
import { plainCall, type Lane } from './lanes.ts'
import { portkeyEntry } from './portkey.ts'
import { cores, freePort, start, type Started } from './processes.ts'
import { scratchFolder } from './scratch-folder.ts'
import { benchKey, benchLimits, benchPrices } from './settings.ts'
import { forTensorZero, tensorZeroArguments, tensorZeroEntry, tensorZeroPort } from './tensorzero.ts'

export interface Contender {
  readonly name: string
  readonly headers: (upstreamPort: number) => Record<string, string>
  /** True for other gateways: those Headgate should beat. */
  readonly peer?: boolean
  /** The reason why it cannot take part here, if so. */
  readonly missing?: () => string | undefined
  /** Returns what its callers send and receive, if that differs from the lane. */
  readonly adapt?: (lane: Lane) => Lane
  /** Starts it and waits for its first answer. `undefined`: callers call the mock directly. */
  readonly start?: (upstreamPort: number, options?: StartOptions) => Promise<Running>
}

export interface StartOptions {
  /** Further options for `node`, such as `--cpu-prof`. */
  readonly nodeOptions?: readonly string[]
}

export interface Running extends Started {
  readonly port: number
}

export const path = '/v1/chat/completions'
const scratch = scratchFolder('gateways')
const bearer = { authorization: `Bearer ${benchKey}` }

export const contenders: readonly Contender[] = [
  { name: 'direct', headers: () => bearer },
  {
    name: 'nginx',
    headers: () => bearer,
    missing: () => (spawnSync(nginx, ['-v']).status === 0 ? undefined : 'nginx is not installed'),
    start: async upstreamPort => {
      const port = await freePort()
      const file = join(scratch, 'nginx.conf')
      writeFileSync(file, nginxConfiguration(port, upstreamPort))
      return await started(port, bearer, {
        file: nginx,
        args: ['-p', scratch, '-c', file, '-e', 'stderr'],
        cores: cores.gateway
      })
    }
  },
  {
    name: 'bare pipe',
    headers: () => bearer,
    start: async (upstreamPort, options) => {
      const port = await freePort()
      const command = node('pipe.js', [port, upstreamPort, ...tls === undefined ? [] : [tls.port]], options)
      return await started(port, bearer, { ...command, env: trust })
    }
  },
  {
    name: 'Portkey',
    peer: true,
    headers: portkeyHeaders,
    missing: () =>
      existsSync(portkeyEntry) ? undefined : 'Portkey is not installed: npm run bench:portkey',
    start: async upstreamPort => {
      const port = await freePort()
      const args = [portkeyEntry, `--port=${port}`, '--headless']
      return await started(port, portkeyHeaders(upstreamPort), {
        file: process.execPath,
        args,
        cores: cores.gateway
      })
    }
  },
  {
    name: 'LiteLLM',
    peer: true,
    headers: () => bearer,
    missing: () =>
      existsSync(litellmEntry) ? undefined : 'LiteLLM is not installed: npm run bench:litellm',
    start: async upstreamPort => {
      const port = await freePort()
      return await started(port, bearer, {
        file: litellmEntry,
        args: litellmArguments(join(scratch, `litellm-${port}.yaml`), port, upstreamPort),
        env: litellmEnvironment,
        cores: cores.gateway,
        maxStartMs: 90_000
      })
    }
  },
  {
    name: 'TensorZero',
    peer: true,
    headers: () => bearer,
    missing: () =>
      existsSync(tensorZeroEntry) ? undefined : 'TensorZero is not installed: npm run bench:tensorzero',
    adapt: forTensorZero,
    start: async upstreamPort => {
      const name = join(scratch, `tensorzero-${await freePort()}`)
      const command = {
        file: tensorZeroEntry,
        args: tensorZeroArguments(`${name}.toml`, name, upstreamPort),
        output: `${name}.log`,
        cores: cores.gateway
      }
      return await startedAt(() => tensorZeroPort(name), bearer, command, forTensorZero)
    }
  },
  ...Object.entries({
    Bifrost: 'the proxy of Go modules does not have it, and its package for npm fetches it from elsewhere',
    GoModel: 'the proxy of Go modules does not have it',
    agentgateway: 'it is in no package registry: what has its name on PyPI is another project'
  }).map(([name, reason]): Contender => ({
    name,
    peer: true,
    headers: () => bearer,
    missing: () => reason
  })),
  headgate('Headgate'),
  headgate('Headgate × 2', { workers: 2 }),
  before(headgate('Headgate before', { folder: process.env['BENCH_BEFORE'] })),
  before(headgate('Headgate × 2 before', { workers: 2, folder: process.env['BENCH_BEFORE'] }))
]

function before (contender: Contender): Contender {
  return {
    ...contender,
    missing: () =>
      process.env['BENCH_BEFORE'] === undefined
        ? 'BENCH_BEFORE names no folder with another version, built'
        : undefined
  }
}

const nginx = '/usr/sbin/nginx'
const trust = tls === undefined ? {} : { NODE_EXTRA_CA_CERTS: tls.certificate }

export interface HeadgateOptions {
  readonly workers?: number
  /** Another checkout, already built; by default this one. */
  readonly folder?: string | undefined
  /** The program to run, relative to this folder. Default: the bundle. */
  readonly entry?: string
  /** Default: a new directory. */
  readonly dataDir?: string
  /** Entries of the configuration, in place of the default ones. */
  readonly config?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
  /** The log file. Default: one that is removed at the end. */
  readonly output?: string
}

export function headgate (name: string, options: HeadgateOptions = {}): Contender {
  const { workers = 1, folder, entry = '../../headgate.cjs', dataDir, config = {}, env = {} } = options
  return {
    name,
    headers: () => bearer,
    start: async (upstreamPort, startOptions) => {
      const port = await freePort()
      const file = join(scratch, `headgate-${port}.yaml`)
      writeFileSync(
        file,
        JSON.stringify({
          ...headgateConfiguration(
            port,
            dataDir ?? join(scratch, `data-${port}`),
            upstreamPort,
            workers,
            folder === undefined
          ),
          ...config
        })
      )
      return await started(port, bearer, {
        ...node(folder === undefined ? entry : entryOf(folder), ['start', '--config', file], startOptions),
        cores: workers === 1 ? cores.gateway : cores.twoGateways,
        env: {
          ...trust,
          NODE_OPTIONS: '--max-semi-space-size=16', // as in examples/deployment
          BENCH_KEY: benchKey,
          BENCH_UPSTREAM_KEY: 'sk-mock',
          HEADGATE_WORKERS: String(workers),
          ...env
        },
        output: options.output ?? join(scratch, `headgate-${port}.log`)
      })
    }
  }
}

/** Returns the address of another checkout's command, whose version may have no bundle. */
function entryOf (folder: string): string {
  const file = join(folder, 'build/headgate.cjs')
  return pathToFileURL(existsSync(file) ? file : join(folder, 'build/lib/main.js')).href
}

function node (name: string, args: ReadonlyArray<number | string>, { nodeOptions = [] }: StartOptions = {}) {
  const file = fileURLToPath(new URL(name, import.meta.url))
  return { file: process.execPath, args: [...nodeOptions, file, ...args.map(String)], cores: cores.gateway }
}

async function started (
  port: number,
  headers: Record<string, string>,
  command: Parameters<typeof start>[0]
): Promise<Running> {
  return await startedAt(() => port, headers, command)
}

/** @param portOf returns the port once it is known */
async function startedAt (
  portOf: () => number | undefined,
  headers: Record<string, string>,
  command: Parameters<typeof start>[0],
  adapt: Contender['adapt'] = lane => lane
): Promise<Running> {
  const started = await start(command, async () => {
    const port = portOf()
    return port !== undefined && await answers(port, headers, adapt(plainCall))
  })
  return { ...started, port: portOf() ?? 0 }
}

/** Returns whether a chat request gets a 200: only then is it ready. */
async function answers (port: number, headers: Record<string, string>, lane: Lane): Promise<boolean> {
  return await new Promise(resolve => {
    const answer = request(
      {
        host: '127.0.0.1',
        port,
        path: lane.path ?? path,
        method: 'POST',
        agent: false,
        headers: { ...headers, 'content-type': 'application/json' }
      },
      response => {
        response
          .resume()
          .on('end', () => resolve(response.statusCode === 200))
          .on('error', () => resolve(false))
      }
    )
    answer.on('error', () => resolve(false))
    answer.end(lane.body)
  })
}

function portkeyHeaders (upstreamPort: number): Record<string, string> {
  return {
    ...bearer,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`
  }
}

/** As in production: keys, limits, validation, usage and the log are on. */
function headgateConfiguration (
  port: number,
  dataDir: string,
  upstreamPort: number,
  workers: number,
  isCurrent: boolean
): Record<string, unknown> {
  return {
    // All callers have one key, and some lanes have 10,000 of them. Earlier versions may not know a setting.
    ...isCurrent && { limits: { open_calls: 20_000, max_share_per_key: 1 } },
    server: { port, workers, data_dir: dataDir },
    providers: {
      mock: {
        kind: 'openai',
        base_url: `http://127.0.0.1:${upstreamPort}/v1`,
        api_key: 'env:BENCH_UPSTREAM_KEY',
        list_models: false
      },
      ...tls !== undefined && {
        tls: {
          kind: 'openai',
          base_url: `https://127.0.0.1:${tls.port}/v1`,
          api_key: 'env:BENCH_UPSTREAM_KEY',
          list_models: false
        }
      },
      anthropic: {
        base_url: `http://127.0.0.1:${upstreamPort}/v1`,
        api_key: 'env:BENCH_UPSTREAM_KEY',
        list_models: false
      },
      google: {
        base_url: `http://127.0.0.1:${upstreamPort}/v1beta`,
        api_key: 'env:BENCH_UPSTREAM_KEY',
        list_models: false
      }
    },
    keys: [{ name: 'bench', key: 'env:BENCH_KEY', limits: benchLimits }],
    models: benchPrices
  }
}

/** One process that forwards unchanged: the cost of a proxy in C. */
function nginxConfiguration (port: number, upstreamPort: number): string {
  return `
    daemon off; master_process off; worker_processes 1; pid ${join(scratch, 'nginx.pid')};
    events { worker_connections 8192; }
    http {
      access_log ${join(scratch, 'nginx.log')};
      client_body_temp_path ${scratch}; proxy_temp_path ${scratch}; fastcgi_temp_path ${scratch};
      uwsgi_temp_path ${scratch}; scgi_temp_path ${scratch};
      client_body_buffer_size 64k; client_max_body_size 64m; keepalive_requests 1000000;
      upstream mock { server 127.0.0.1:${upstreamPort}; keepalive 512; keepalive_requests 1000000; }
      server {
        listen 127.0.0.1:${port} backlog=4096;
        location / {
          proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header connection "";
          proxy_buffering off;
        }
      }
    }`
}
