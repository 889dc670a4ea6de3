"""The tools and the one executor through which every call goes."""
