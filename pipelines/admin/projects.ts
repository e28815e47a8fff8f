/** Projects and their members. */

import { pageRequest } from '../../lib/stores/pages.ts'
import type { Project } from '../../schemas/admin/organisation.ts'
import { audit, checkGuardNames, notFound, param, principalOf, visibleProject } from './acts.ts'
import type { AdminHandlers } from './handler.ts'

export const projectHandlers: AdminHandlers<
  | 'GET /admin/v1/projects'
  | 'POST /admin/v1/projects'
  | 'GET /admin/v1/projects/:project_id'
  | 'POST /admin/v1/projects/:project_id'
  | 'DELETE /admin/v1/projects/:project_id'
  | 'GET /admin/v1/projects/:project_id/members'
  | 'POST /admin/v1/projects/:project_id/members'
  | 'DELETE /admin/v1/projects/:project_id/members/:user_id'
> = {
  'GET /admin/v1/projects': async call =>
    await call.admin.accounts.projects.list(pageRequest(call.search), principalOf(call).projects),

  'POST /admin/v1/projects': async (call, { settings }) => {
    checkGuardNames(call.request.stages, settings)
    const project = await call.admin.accounts.projects.create(call.request)
    await audit(call, { action: 'project.create', subject: project, after: settingsOf(project) })
    return project
  },

  'GET /admin/v1/projects/:project_id': async call => await visibleProject(call, param(call, 'project_id')),

  'POST /admin/v1/projects/:project_id': async (call, { settings }) => {
    checkGuardNames(call.request.stages, settings)
    const before = await visibleProject(call, param(call, 'project_id'))
    const after = await call.admin.accounts.projects.update(before.id, call.request)
    await audit(call, {
      action: 'project.update',
      subject: after,
      before: settingsOf(before),
      after: settingsOf(after)
    })
    return after
  },

  'DELETE /admin/v1/projects/:project_id': async call => {
    const project = await visibleProject(call, param(call, 'project_id'))
    await call.admin.accounts.projects.archive(project.id)
    await call.admin.bodies.expireProject(project.id)
    await audit(call, { action: 'project.archive', subject: project })
    return { id: project.id, deleted: true }
  },

  'GET /admin/v1/projects/:project_id/members': async call => {
    const { id } = await visibleProject(call, param(call, 'project_id'))
    return await call.admin.accounts.projects.members(id, pageRequest(call.search))
  },

  'POST /admin/v1/projects/:project_id/members': async call => {
    const { projects, users } = call.admin.accounts
    const project = await visibleProject(call, param(call, 'project_id'))
    const user = await users.find(call.request.user_id)
    if (user === undefined) throw notFound('user_id', 'user')
    await users.join(user.id, project.id)
    await audit(call, {
      action: 'member.add',
      subject: project,
      after: { user_id: user.id, name: user.name }
    })
    return await projects.requireMember(project.id, user.id)
  },

  'DELETE /admin/v1/projects/:project_id/members/:user_id': async call => {
    const project = await visibleProject(call, param(call, 'project_id'))
    const id = param(call, 'user_id')
    if (!await call.admin.accounts.leaveProject(id, project.id)) throw notFound('user_id', 'member')
    await audit(call, { action: 'member.remove', subject: project, before: { user_id: id } })
    return { id, deleted: true }
  }
}

function settingsOf ({ name, models, stages, limits }: Project): object {
  return { name, models, stages, limits }
}
