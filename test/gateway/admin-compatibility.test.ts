/**
 * Checks the guarantee of `docs/dashboard.md`: within `/admin/v1` routes and fields are added, and none is
 * removed. The file lists what was released. `UPDATE_ADMIN_API=1` adds new entries when a version gets its
 * release date.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isObject } from '../../lib/json/type-guards.ts'
import { adminRoutes, type AdminRouteSpec } from '../../schemas/admin/routes.ts'

const root = join(import.meta.dirname, '../../..')
const file = join(root, 'test/fixtures/admin-api-v1.json')

interface Route {
  readonly role: string
  readonly scope?: string | undefined
  readonly query: readonly string[]
  /** Fields of the request, nested ones with a dot. */
  readonly request: readonly string[]
  /** Required fields of the request. */
  readonly required: readonly string[]
  readonly answer: readonly string[]
}

type Api = Readonly<Record<string, Route>>

function routeOf ({ role, scope, query = {}, request, answer }: AdminRouteSpec): Route {
  return {
    role,
    scope,
    query: Object.keys(query),
    request: fields(request),
    required: fields(request, true),
    answer: fields(answer)
  }
}

/** Lists the fields of a schema by path, through lists and alternatives. */
function fields (schema: unknown, requiredOnly = false): string[] {
  const found = new Set<string>()
  const visit = (part: unknown, path: string): void => {
    if (!isObject(part)) return
    const required = Array.isArray(part['required']) ? part['required'] : []
    for (const [name, property] of Object.entries(isObject(part['properties']) ? part['properties'] : {})) {
      if (requiredOnly && !required.includes(name)) continue
      found.add(path + name)
      visit(property, `${path}${name}.`)
    }
    visit(part['items'], path)
    for (const alternative of Array.isArray(part['anyOf']) && !requiredOnly ? part['anyOf'] : []) {
      visit(alternative, path)
    }
  }
  visit(schema, '')
  return [...found].toSorted()
}

function without (list: readonly string[], other: readonly string[] = []): string[] {
  return list.filter(each => !other.includes(each))
}

/** Lists incompatibilities for a client of the earlier API. */
function breaks (before: Api, now: Api): string[] {
  const roles = ['none', 'self', 'viewer', 'member', 'admin', 'owner']
  return Object.entries(before).flatMap(([name, { role, scope, query, request, answer }]) => {
    const route = now[name]
    if (route === undefined) return [`${name} is gone`]
    return [
      ...without(query, route.query).map(field => `${name} has no parameter ${field}`),
      ...without(request, route.request).map(field => `${name} takes no ${field}`),
      ...without(route.required, before[name]?.required).map(field => `${name} needs ${field}`),
      ...without(answer, route.answer).map(field => `${name} answers without ${field}`),
      ...roles.indexOf(route.role) > roles.indexOf(role) ? [`${name} needs the role ${route.role}`] : [],
      ...route.scope === scope ? [] : [`${name} has the scope ${route.scope}`]
    ]
  })
}

/** Prints one line per route. */
function printed (api: Api): string {
  return `{\n${Object.entries(api)
    .map(([name, route]) => `  ${JSON.stringify(name)}: ${JSON.stringify(route)}`)
    .join(',\n')}\n}\n`
}

const now: Api = Object.fromEntries(
  Object.entries<AdminRouteSpec>(adminRoutes).map(([name, route]) => [name, routeOf(route)])
)

t.test('the admin API keeps every route and field, and requires no more of a request', async t => {
  const before = JSON.parse(readFileSync(file, 'utf8')) as Api
  t.ok(Object.keys(before).length > 50)
  t.same(breaks(before, now), [])
  if (process.env['UPDATE_ADMIN_API'] === '1') writeFileSync(file, printed(now))
})

t.test('a released version has all its routes in the list', async t => {
  const [, heading = ''] = /^## (.*)$/m.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) ?? []
  t.match(heading, /^(?:\[?Unreleased|\d+\.\d+\.\d+ - (?:unreleased|\d{4}-\d{2}-\d{2}))/)
  if (heading.toLowerCase().includes('unreleased')) return
  t.same(
    JSON.parse(readFileSync(file, 'utf8')),
    JSON.parse(printed(now)),
    'UPDATE_ADMIN_API=1 adds new ones'
  )
})

t.test(
  'a removed route, field or right and a newly required field are detected',
  async t => {
    const route: Route = {
      role: 'member',
      scope: 'keys:read',
      query: ['limit'],
      request: ['name', 'limits.budget'],
      required: ['name'],
      answer: ['id']
    }
    t.same(
      breaks(
        { a: route },
        { a: { ...route, answer: ['id', 'more'], request: [...route.request, 'more'] }, b: route }
      ),
      []
    )
    t.same(
      breaks(
        { a: route, b: route },
        {
          a: {
            role: 'admin',
            scope: 'keys:write',
            query: [],
            request: ['name'],
            required: ['name', 'project'],
            answer: []
          }
        }
      ),
      [
        'a has no parameter limit',
        'a takes no limits.budget',
        'a needs project',
        'a answers without id',
        'a needs the role admin',
        'a has the scope keys:write',
        'b is gone'
      ]
    )
    t.ok(now['POST /admin/v1/keys']?.request.includes('limits.budget.usd'), 'nested fields are detected')
    t.ok(now['GET /admin/v1/keys']?.answer.includes('data.limits.budget.usd'))
  }
)
