/** Ends the session and deletes the data of this user from the browser, in all tabs. */
import { deleteConversations } from '../model/stored-conversations.js'
import { api, forgetRefs } from './api.js'

const leaving = new BroadcastChannel('dragoman.leaving')
leaving.onmessage = leave

export async function logOut(): Promise<void> {
  await api('DELETE', 'session').catch(() => undefined) // without its server the session has ended too
  leaving.postMessage('')
  leave()
}

function leave(): void {
  deleteConversations()
  forgetRefs()
  location.reload()
}
