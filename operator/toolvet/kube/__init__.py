"""Custom resources and reviews on one side, core records on the other, and one small API client."""
