export default { skipTrailingSlashRedirect: true }
